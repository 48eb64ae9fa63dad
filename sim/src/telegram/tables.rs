//! The methods this server knows and the objects they take: names, types and which are required.
//!
//! Plain data after the published specification, Bot API 10.1. The contract test compares every line with that file where it is
//! present, so that a new version shows up as a failing test and not as a surprise.

/// One parameter of a method, or one field of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name as it stands in a request.
    pub name: &'static str,
    /// The types the documentation allows, in its own words, such as `Array of MessageEntity`.
    pub types: &'static [&'static str],
    /// Whether the documentation says that it must be there.
    pub required: bool,
}

/// A method with its parameters, or an object with its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The name as the documentation writes it.
    pub name: &'static str,
    /// The parameters or fields, in the order of the documentation.
    pub fields: &'static [Field],
}

impl Shape {
    /// The field of that exact name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// The method of that name; the real server ignores the case of a method's name.
#[must_use]
pub fn method(name: &str) -> Option<&'static Shape> {
    METHODS.iter().find(|shape| shape.name.eq_ignore_ascii_case(name))
}

/// The object of that exact name, where this server looks into it.
#[must_use]
pub fn object(name: &str) -> Option<&'static Shape> {
    OBJECTS.iter().find(|shape| shape.name == name)
}

const fn needed(name: &'static str, types: &'static [&'static str]) -> Field {
    Field { name, types, required: true }
}

const fn optional(name: &'static str, types: &'static [&'static str]) -> Field {
    Field { name, types, required: false }
}

/// Every method this server knows.
pub const METHODS: &[Shape] = &[
    Shape { name: "getMe", fields: &[] },
    Shape {
        name: "getUpdates",
        fields: &[
            optional("offset", &["Integer"]),
            optional("limit", &["Integer"]),
            optional("timeout", &["Integer"]),
            optional("allowed_updates", &["Array of String"]),
        ],
    },
    Shape {
        name: "setWebhook",
        fields: &[
            needed("url", &["String"]),
            optional("certificate", &["InputFile"]),
            optional("ip_address", &["String"]),
            optional("max_connections", &["Integer"]),
            optional("allowed_updates", &["Array of String"]),
            optional("drop_pending_updates", &["Boolean"]),
            optional("secret_token", &["String"]),
        ],
    },
    Shape { name: "deleteWebhook", fields: &[optional("drop_pending_updates", &["Boolean"])] },
    Shape { name: "getWebhookInfo", fields: &[] },
    Shape {
        name: "sendMessage",
        fields: &[
            optional("business_connection_id", &["String"]),
            needed("chat_id", &["Integer", "String"]),
            optional("message_thread_id", &["Integer"]),
            optional("direct_messages_topic_id", &["Integer"]),
            needed("text", &["String"]),
            optional("parse_mode", &["String"]),
            optional("entities", &["Array of MessageEntity"]),
            optional("link_preview_options", &["LinkPreviewOptions"]),
            optional("disable_notification", &["Boolean"]),
            optional("protect_content", &["Boolean"]),
            optional("allow_paid_broadcast", &["Boolean"]),
            optional("message_effect_id", &["String"]),
            optional("suggested_post_parameters", &["SuggestedPostParameters"]),
            optional("reply_parameters", &["ReplyParameters"]),
            optional(
                "reply_markup",
                &["InlineKeyboardMarkup", "ReplyKeyboardMarkup", "ReplyKeyboardRemove", "ForceReply"],
            ),
        ],
    },
    Shape {
        name: "editMessageText",
        fields: &[
            optional("business_connection_id", &["String"]),
            optional("chat_id", &["Integer", "String"]),
            optional("message_id", &["Integer"]),
            optional("inline_message_id", &["String"]),
            optional("text", &["String"]),
            optional("parse_mode", &["String"]),
            optional("entities", &["Array of MessageEntity"]),
            optional("link_preview_options", &["LinkPreviewOptions"]),
            optional("rich_message", &["InputRichMessage"]),
            optional("reply_markup", &["InlineKeyboardMarkup"]),
        ],
    },
    Shape {
        name: "editMessageReplyMarkup",
        fields: &[
            optional("business_connection_id", &["String"]),
            optional("chat_id", &["Integer", "String"]),
            optional("message_id", &["Integer"]),
            optional("inline_message_id", &["String"]),
            optional("reply_markup", &["InlineKeyboardMarkup"]),
        ],
    },
    Shape {
        name: "deleteMessage",
        fields: &[needed("chat_id", &["Integer", "String"]), needed("message_id", &["Integer"])],
    },
    Shape {
        name: "answerCallbackQuery",
        fields: &[
            needed("callback_query_id", &["String"]),
            optional("text", &["String"]),
            optional("show_alert", &["Boolean"]),
            optional("url", &["String"]),
            optional("cache_time", &["Integer"]),
        ],
    },
    Shape {
        name: "sendChatAction",
        fields: &[
            optional("business_connection_id", &["String"]),
            needed("chat_id", &["Integer", "String"]),
            optional("message_thread_id", &["Integer"]),
            needed("action", &["String"]),
        ],
    },
    Shape {
        name: "setMyCommands",
        fields: &[
            needed("commands", &["Array of BotCommand"]),
            optional("scope", &["BotCommandScope"]),
            optional("language_code", &["String"]),
        ],
    },
    Shape {
        name: "getMyCommands",
        fields: &[optional("scope", &["BotCommandScope"]), optional("language_code", &["String"])],
    },
    Shape { name: "getChat", fields: &[needed("chat_id", &["Integer", "String"])] },
    Shape {
        name: "getChatMember",
        fields: &[needed("chat_id", &["Integer", "String"]), needed("user_id", &["Integer"])],
    },
];

/// Every object this server looks into.
pub const OBJECTS: &[Shape] = &[
    Shape {
        name: "InlineKeyboardMarkup",
        fields: &[needed("inline_keyboard", &["Array of Array of InlineKeyboardButton"])],
    },
    Shape {
        name: "InlineKeyboardButton",
        fields: &[
            needed("text", &["String"]),
            optional("icon_custom_emoji_id", &["String"]),
            optional("style", &["String"]),
            optional("url", &["String"]),
            optional("callback_data", &["String"]),
            optional("web_app", &["WebAppInfo"]),
            optional("login_url", &["LoginUrl"]),
            optional("switch_inline_query", &["String"]),
            optional("switch_inline_query_current_chat", &["String"]),
            optional("switch_inline_query_chosen_chat", &["SwitchInlineQueryChosenChat"]),
            optional("copy_text", &["CopyTextButton"]),
            optional("callback_game", &["CallbackGame"]),
            optional("pay", &["Boolean"]),
        ],
    },
    Shape { name: "WebAppInfo", fields: &[needed("url", &["String"])] },
    Shape {
        name: "LoginUrl",
        fields: &[
            needed("url", &["String"]),
            optional("forward_text", &["String"]),
            optional("bot_username", &["String"]),
            optional("request_write_access", &["Boolean"]),
        ],
    },
    Shape {
        name: "SwitchInlineQueryChosenChat",
        fields: &[
            optional("query", &["String"]),
            optional("allow_user_chats", &["Boolean"]),
            optional("allow_bot_chats", &["Boolean"]),
            optional("allow_group_chats", &["Boolean"]),
            optional("allow_channel_chats", &["Boolean"]),
        ],
    },
    Shape { name: "CopyTextButton", fields: &[needed("text", &["String"])] },
    Shape {
        name: "ReplyKeyboardMarkup",
        fields: &[
            needed("keyboard", &["Array of Array of KeyboardButton"]),
            optional("is_persistent", &["Boolean"]),
            optional("resize_keyboard", &["Boolean"]),
            optional("one_time_keyboard", &["Boolean"]),
            optional("input_field_placeholder", &["String"]),
            optional("selective", &["Boolean"]),
        ],
    },
    Shape {
        name: "ReplyKeyboardRemove",
        fields: &[needed("remove_keyboard", &["Boolean"]), optional("selective", &["Boolean"])],
    },
    Shape {
        name: "ForceReply",
        fields: &[
            needed("force_reply", &["Boolean"]),
            optional("input_field_placeholder", &["String"]),
            optional("selective", &["Boolean"]),
        ],
    },
    Shape {
        name: "MessageEntity",
        fields: &[
            needed("type", &["String"]),
            needed("offset", &["Integer"]),
            needed("length", &["Integer"]),
            optional("url", &["String"]),
            optional("user", &["User"]),
            optional("language", &["String"]),
            optional("custom_emoji_id", &["String"]),
            optional("unix_time", &["Integer"]),
            optional("date_time_format", &["String"]),
        ],
    },
    Shape {
        name: "User",
        fields: &[
            needed("id", &["Integer"]),
            needed("is_bot", &["Boolean"]),
            needed("first_name", &["String"]),
            optional("last_name", &["String"]),
            optional("username", &["String"]),
            optional("language_code", &["String"]),
            optional("is_premium", &["Boolean"]),
            optional("added_to_attachment_menu", &["Boolean"]),
            optional("can_join_groups", &["Boolean"]),
            optional("can_read_all_group_messages", &["Boolean"]),
            optional("supports_guest_queries", &["Boolean"]),
            optional("supports_inline_queries", &["Boolean"]),
            optional("can_connect_to_business", &["Boolean"]),
            optional("has_main_web_app", &["Boolean"]),
            optional("has_topics_enabled", &["Boolean"]),
            optional("allows_users_to_create_topics", &["Boolean"]),
            optional("can_manage_bots", &["Boolean"]),
            optional("supports_join_request_queries", &["Boolean"]),
        ],
    },
    Shape {
        name: "LinkPreviewOptions",
        fields: &[
            optional("is_disabled", &["Boolean"]),
            optional("url", &["String"]),
            optional("prefer_small_media", &["Boolean"]),
            optional("prefer_large_media", &["Boolean"]),
            optional("show_above_text", &["Boolean"]),
        ],
    },
    Shape {
        name: "ReplyParameters",
        fields: &[
            needed("message_id", &["Integer"]),
            optional("chat_id", &["Integer", "String"]),
            optional("allow_sending_without_reply", &["Boolean"]),
            optional("quote", &["String"]),
            optional("quote_parse_mode", &["String"]),
            optional("quote_entities", &["Array of MessageEntity"]),
            optional("quote_position", &["Integer"]),
            optional("checklist_task_id", &["Integer"]),
            optional("poll_option_id", &["String"]),
        ],
    },
    Shape { name: "BotCommand", fields: &[needed("command", &["String"]), needed("description", &["String"])] },
    Shape {
        name: "SuggestedPostParameters",
        fields: &[optional("price", &["SuggestedPostPrice"]), optional("send_date", &["Integer"])],
    },
    Shape { name: "SuggestedPostPrice", fields: &[needed("currency", &["String"]), needed("amount", &["Integer"])] },
];

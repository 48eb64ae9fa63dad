//! What people do: they join, write, press buttons, choose, send forms off, use commands, delete messages.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    Discord,
    id::Id,
    interactions::component_data,
    json::Shape,
    refusal::Refusal,
    route::{Route, Target},
    state::{Access, CallbackKind, Cause, Channel, ChannelKind, Dms, Message, User},
    world::World,
};

/// Which button is pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The one at this place, counted from 0 over all rows.
    Place(usize),
    /// The one with this custom id.
    CustomId(String),
    /// The first one that says this.
    Label(String),
}

/// Why a person cannot press this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotTap {
    /// There is no such message (any more), or the person cannot see it.
    #[error("the message is not there for this person: wait for it, or use its newer copy")]
    NoMessage,
    /// The message has no such button.
    #[error("the message has no such button: look at `Message::buttons`")]
    NoButton,
    /// It is a link: the app opens it, and the bot hears nothing.
    #[error("this is a link button, which makes no interaction: read its `url`")]
    Link,
    /// It is greyed out.
    #[error("the button is greyed out")]
    Disabled,
    /// The thread is archived: the app fails on its own, and the bot hears nothing.
    #[error("the thread is archived: the press never reaches the bot")]
    Archived,
    /// The interaction did not open a form.
    #[error("the interaction did not open a form: wait for a response of type 9")]
    NoForm,
}

impl Discord {
    /// Adds a person who can be written to.
    pub fn add_user(&self, id: impl Into<Id>, name: &str) -> Id {
        let id = id.into();
        self.core.change(|world| world.state.users.insert(id, User { id, name: name.to_owned(), dms: Dms::Open }));
        id
    }

    /// Changes whether the bot can write to a person.
    pub fn set_dms(&self, user: impl Into<Id>, dms: Dms) {
        let user = user.into();
        self.core.change(|world| {
            if let Some(user) = world.state.users.get_mut(&user) {
                user.dms = dms;
            }
        });
    }

    /// Adds a text channel to the guild.
    pub fn add_channel(&self, id: impl Into<Id>, name: &str) -> Id {
        self.add_place(id.into(), name, ChannelKind::Text)
    }

    /// Adds a thread to a channel.
    pub fn add_thread(&self, id: impl Into<Id>, parent: Id, name: &str) -> Id {
        self.add_place(id.into(), name, ChannelKind::Thread { parent, archived: false, locked: false })
    }

    /// Changes what the bot may do in a channel.
    pub fn set_access(&self, channel: Id, access: Access) {
        self.core.change(|world| {
            if let Some(channel) = world.state.channels.get_mut(&channel) {
                channel.access = access;
            }
        });
    }

    /// Archives a thread, or opens it again.
    pub fn set_archived(&self, thread: Id, archived: bool, locked: bool) {
        self.core.change(|world| {
            if let Some(Channel { kind, .. }) = world.state.channels.get_mut(&thread)
                && let ChannelKind::Thread { parent, .. } = *kind
            {
                *kind = ChannelKind::Thread { parent, archived, locked };
            }
        });
    }

    /// Removes a channel with all in it: 10003 from now on.
    pub fn remove_channel(&self, channel: Id) {
        self.core.change(|world| world.state.channels.remove(&channel));
    }

    /// Presses a button and returns the interaction's id.
    ///
    /// # Errors
    ///
    /// [`CannotTap`] where the app would not send anything.
    pub fn tap(&self, user: impl Into<Id>, message: Id, pick: impl Into<Pick>) -> Result<Id, CannotTap> {
        self.tap_shaped(user, message, pick, Shape::Plain)
    }

    /// Presses a button; the event is written in another shape.
    ///
    /// # Errors
    ///
    /// [`CannotTap`] where the app would not send anything.
    pub fn tap_shaped(
        &self,
        user: impl Into<Id>,
        message: Id,
        pick: impl Into<Pick>,
        shape: Shape,
    ) -> Result<Id, CannotTap> {
        let (user, pick, now) = (user.into(), pick.into(), self.now());
        self.core.change(|world| {
            let id = world.press(user, message, &pick, None, now)?;
            world.deliver(id, shape);
            Ok(id)
        })
    }

    /// Presses a button without telling the gateway, and returns the body that interactions over HTTP would carry.
    ///
    /// Sign and send it, then hand the answer to [`Discord::answered_over_http`].
    ///
    /// # Errors
    ///
    /// [`CannotTap`] where the app would not send anything.
    pub fn tap_over_http(
        &self,
        user: impl Into<Id>,
        message: Id,
        pick: impl Into<Pick>,
    ) -> Result<(Id, Value), CannotTap> {
        let (user, pick, now) = (user.into(), pick.into(), self.now());
        self.core.change(|world| {
            let id = world.press(user, message, &pick, None, now)?;
            Ok((id, world.event_of(id, Shape::Plain).unwrap_or_default()))
        })
    }

    /// Takes the body of an HTTP answer to an interaction as its first response.
    ///
    /// # Errors
    ///
    /// What the callback endpoint would have answered, as JSON.
    pub fn answered_over_http(&self, interaction: Id, body: &Value) -> Result<(), Value> {
        let now = self.now();
        self.core.change(|world| {
            let token = world.state.interactions.get(&interaction).map(|known| known.token.clone());
            let target = Target { interaction: Some(interaction), token, ..Target::of(Route::Callback) };
            let empty = Map::new();
            let outcome = world.respond(&target, body.as_object().unwrap_or(&empty), now);
            outcome.map(|_| ()).map_err(|refusal: Refusal| refusal.body())
        })
    }

    /// Presses what an old client still shows: neither the message nor the button needs to be there as described.
    pub fn tap_stale(&self, user: impl Into<Id>, message: Id, custom_id: &str) -> Option<Id> {
        let (user, now) = (user.into(), self.now());
        self.core.change(|world| {
            let channel = world.state.messages.get(&message)?.channel;
            let cause = Cause::Component { message, custom_id: custom_id.to_owned(), values: None };
            let id = world.begin(cause, user, channel, component_data(&Value::Null, custom_id, None), now);
            world.deliver(id, Shape::Plain);
            Some(id)
        })
    }

    /// Chooses from a select.
    ///
    /// # Errors
    ///
    /// [`CannotTap`] where the app would not send anything.
    pub fn choose(&self, user: impl Into<Id>, message: Id, custom_id: &str, values: &[&str]) -> Result<Id, CannotTap> {
        let (user, now) = (user.into(), self.now());
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        self.core.change(|world| {
            let id = world.press(user, message, &Pick::CustomId(custom_id.to_owned()), Some(values), now)?;
            world.deliver(id, Shape::Plain);
            Ok(id)
        })
    }

    /// Sends off the form that an interaction opened: custom ids of text inputs with what is written there.
    ///
    /// # Errors
    ///
    /// [`CannotTap::NoForm`] when no form is open.
    pub fn submit_form(&self, opened_by: Id, values: &[(&str, &str)]) -> Result<Id, CannotTap> {
        let now = self.now();
        self.core.change(|world| {
            let opener = world.state.interactions.get(&opened_by).ok_or(CannotTap::NoForm)?;
            let callback = opener.callback.as_ref().filter(|callback| callback.kind == CallbackKind::Modal);
            let modal = callback.and_then(|callback| callback.modal.as_ref()).ok_or(CannotTap::NoForm)?;
            let custom_id = modal.get("custom_id").and_then(Value::as_str).unwrap_or_default().to_owned();
            let data = json!({ "custom_id": custom_id, "components": filled_in(modal, values) });
            let cause = Cause::Modal { custom_id, message: opener.cause.message(), opened_by };
            let (user, channel) = (opener.user, opener.channel);
            let id = world.begin(cause, user, channel, data, now);
            world.deliver(id, Shape::Plain);
            Ok(id)
        })
    }

    /// Uses a slash command; `options` as Discord would send them.
    pub fn use_command(&self, user: impl Into<Id>, channel: Id, name: &str, options: &Value) -> Id {
        let (user, now) = (user.into(), self.now());
        self.core.change(|world| {
            let registered = world.state.commands.iter().find(|command| command.get("name") == Some(&json!(name)));
            let id = registered.and_then(|command| command.get("id").cloned()).unwrap_or_else(|| json!("1"));
            let data = json!({ "id": id, "name": name, "type": 1, "options": options });
            let id = world.begin(Cause::Command { name: name.to_owned() }, user, channel, data, now);
            world.deliver(id, Shape::Plain);
            id
        })
    }

    /// Delivers an interaction's event once more, as two connected instances would both see it.
    pub fn redeliver(&self, interaction: Id) {
        self.core.change(|world| world.deliver(interaction, Shape::Plain));
    }

    /// Writes a message as a person.
    pub fn say(&self, user: impl Into<Id>, channel: Id, text: &str) -> Id {
        let (user, now) = (user.into(), self.now());
        self.core.change(|world| {
            let mut message: Message = world.blank(channel, now);
            message.author = user;
            text.clone_into(&mut message.content);
            let id = message.id;
            world.publish(message);
            id
        })
    }

    /// Writes to the bot directly, which also opens the channel.
    pub fn say_to_bot(&self, user: impl Into<Id>, text: &str) -> Option<Id> {
        let user = user.into();
        let channel = self.core.change(|world| world.open_dm(user)).ok()?;
        Some(self.say(user, channel, text))
    }

    /// Deletes a message, as its reader or a moderator would.
    pub fn delete_message(&self, message: Id) {
        self.core.change(|world| world.remove(message));
    }

    fn add_place(&self, id: Id, name: &str, kind: ChannelKind) -> Id {
        let channel = Channel { id, name: name.to_owned(), kind, access: Access::Full, messages: Vec::new() };
        self.core.change(|world| world.state.channels.insert(id, channel));
        id
    }
}

impl World {
    fn press(
        &mut self,
        user: Id,
        message: Id,
        pick: &Pick,
        values: Option<Vec<String>>,
        now: Duration,
    ) -> Result<Id, CannotTap> {
        let message = self.state.messages.get(&message).filter(|message| !message.deleted);
        let message = message.filter(|message| message.only_for.is_none_or(|person| person == user));
        let message = message.ok_or(CannotTap::NoMessage)?;
        let channel = self.state.channels.get(&message.channel).ok_or(CannotTap::NoMessage)?;
        match channel.kind {
            ChannelKind::Dm { user: person } if person != user => return Err(CannotTap::NoMessage),
            ChannelKind::Thread { archived: true, .. } => return Err(CannotTap::Archived),
            _ => {}
        }
        let part = pick.find(message).ok_or(CannotTap::NoButton)?;
        if part.get("disabled") == Some(&Value::Bool(true)) {
            return Err(CannotTap::Disabled);
        }
        let custom_id = part.get("custom_id").and_then(Value::as_str).ok_or(CannotTap::Link)?.to_owned();
        let data = component_data(part, &custom_id, values.as_deref());
        let cause = Cause::Component { message: message.id, custom_id, values };
        let channel = channel.id;
        Ok(self.begin(cause, user, channel, data, now))
    }
}

impl Pick {
    fn find<'m>(&self, message: &'m Message) -> Option<&'m Value> {
        let text = |part: &Value, key: &str, wanted: &str| part.get(key).and_then(Value::as_str) == Some(wanted);
        match self {
            Self::Place(place) => message.parts().nth(*place),
            Self::CustomId(id) => message.parts().find(|part| text(part, "custom_id", id)),
            Self::Label(label) => message.parts().find(|part| text(part, "label", label)),
        }
    }
}

impl From<usize> for Pick {
    fn from(place: usize) -> Self {
        Self::Place(place)
    }
}

impl From<&str> for Pick {
    /// A custom id.
    fn from(custom_id: &str) -> Self {
        Self::CustomId(custom_id.to_owned())
    }
}

/// A form's components as they come back: the same tree, reduced to ids, types and values.
fn filled_in(modal: &Value, values: &[(&str, &str)]) -> Value {
    let input = |sent: &Value| {
        let custom_id = sent.get("custom_id").and_then(Value::as_str).unwrap_or_default();
        let value = values.iter().find(|(id, _)| *id == custom_id).map(|(_, value)| *value).unwrap_or_default();
        json!({ "type": sent.get("type"), "id": 2, "custom_id": custom_id, "value": value })
    };
    let parts = modal.get("components").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let parts = parts.iter().map(|part| {
        let kind = part.get("type").cloned().unwrap_or_default();
        if let Some(inner) = part.get("component") {
            return json!({ "type": kind, "id": 1, "component": input(inner) });
        }
        let inner = part.get("components").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        json!({ "type": kind, "id": 1, "components": inner.iter().map(input).collect::<Vec<_>>() })
    });
    parts.collect()
}

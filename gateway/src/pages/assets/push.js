// What a push message does. The service worker hands every one of them to this function.

/** Takes one push message. */
function onPush(event) {
  event.waitUntil(Promise.resolve());
}

// The inbox's service worker: opens the last inbox when there is no network, and takes push messages. It keeps two kinds of things, the
// inbox page and the files it is made of; it never keeps an answer, nor any other page.

importScripts("/*push.js*/");

const prefix = "/*prefix*/";
const home = `${prefix}/`;
const cacheName = "askgate:/*version*/";

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("activate", (event) => {
  const tidy = async () => {
    for (const name of await caches.keys()) if (name.startsWith("askgate:") && name !== cacheName) await caches.delete(name);
    await self.clients.claim();
  };
  event.waitUntil(tidy());
});

self.addEventListener("push", (event) => onPush(event));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== self.location.origin) return;
  if (url.pathname.startsWith(`${prefix}/assets/`)) event.respondWith(file(request));
  else if (url.pathname === home) event.respondWith(inbox(request));
});

/** A file never changes under its address. */
async function file(request) {
  const cache = await caches.open(cacheName);
  const known = await cache.match(request);
  if (known) return known;
  const response = await fetch(request);
  if (response.ok) await cache.put(request, response.clone());
  return response;
}

/** The inbox as it is, else as it was, and then it says so. */
async function inbox(request) {
  const cache = await caches.open(cacheName);
  let response;
  try {
    response = await fetch(request);
  } catch {
    const known = await cache.match(home);
    return known ? old(known) : Response.error();
  }
  if (response.headers.get("x-askgate-keep") === "yes") await cache.put(home, response.clone());
  // Whoever is signed out leaves nothing behind.
  else if (response.status < 500) await cache.delete(home);
  return response;
}

/** The kept page with a note above it and without its forms' buttons. */
async function old(response) {
  const text = await response.text();
  // The sentence stands in the page already, as HTML in the person's language.
  const note = /data-offline="([^"]*)"/.exec(text)?.[1] ?? "";
  const page = text
    .replace("<body ", '<body class="offline" ')
    .replace("</h1>", `</h1><p class="notice bad away" role="alert">${note}</p>`);
  const headers = new Headers(response.headers);
  headers.set("x-askgate-old", "yes");
  return new Response(page, { headers });
}

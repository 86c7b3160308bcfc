const NAME = "toolgate-sign-out";

const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel(NAME);

/** Notifies the other tabs that the session ended. */
export function announceSignOut(): void {
  if (channel) {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has one origin
    channel.postMessage(null);
    return;
  }
  try {
    // Other tabs get a storage event; nothing is kept.
    localStorage.setItem(NAME, String(Date.now()));
    localStorage.removeItem(NAME);
  } catch {
    // Without storage, the other tabs end at their next request.
  }
}

/** Calls the handler when another tab signs out. */
export function onSignOutElsewhere(handler: () => void): void {
  if (channel) {
    channel.addEventListener("message", handler);
    return;
  }
  addEventListener("storage", ({ key, newValue }) => {
    if (key === NAME && newValue !== null) handler();
  });
}

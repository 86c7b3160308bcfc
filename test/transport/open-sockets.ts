import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

let open = new Set<Socket>();
let next = Promise.withResolvers<void>();

subscribe("net.server.socket", (message) => {
  const { socket } = message as { socket: Socket };
  const mine = open.add(socket);
  socket.once("close", () => mine.delete(socket));
  next.resolve();
  next = Promise.withResolvers();
});

/** The connections that servers of this process hold, of those accepted since `forgetSockets`. */
export function openSockets(): number {
  return open.size;
}

/** Leaves out the connections that others opened before. */
export function forgetSockets(): void {
  open = new Set();
}

/** Resolves when a server of this process has accepted the next connection. */
export function socketAccepted(): Promise<void> {
  return next.promise;
}

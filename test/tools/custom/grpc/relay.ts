import { connect, createServer, type Socket } from "node:net";
import { listen } from "../../../support/servers.ts";

/** A TCP relay whose connections a test can count and cut. */
export interface Relay {
  port: number;
  made(): number;
  cut(): void;
  close(): void;
}

export async function startRelay(target: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let made = 0;
  const server = createServer((outer) => {
    made += 1;
    const inner = connect(target, "127.0.0.1");
    for (const socket of [outer, inner]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        outer.destroy();
        inner.destroy();
      });
    }
    outer.pipe(inner).pipe(outer);
  });
  const port = await listen(server);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    made: () => made,
    cut,
    close() {
      server.close();
      cut();
    },
  };
}

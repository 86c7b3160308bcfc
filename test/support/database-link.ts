import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A line to the database that can be cut and mended, as a network can. */
export interface DatabaseLink {
  /** The database's connection string, by way of this line. */
  readonly url: string;
  /** Cuts every connection, also new ones at once. */
  cut(): void;
  mend(): void;
  /** New connections lead to another server, as behind a proxy that follows the primary. */
  switchTo(port: number): void;
  close(): Promise<void>;
}

export async function openDatabaseLink(databaseUrl: string): Promise<DatabaseLink> {
  const target = new URL(databaseUrl);
  let port = Number(target.port);
  const sockets = new Set<Socket>();
  let whole = true;
  const server = createServer((near) => {
    if (!whole) {
      near.destroy();
      return;
    }
    const far = connect(port, target.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the line has no port");
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String(address.port);
  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cut() {
      whole = false;
      cutAll();
    },
    mend() {
      whole = true;
    },
    switchTo(other) {
      port = other;
    },
    async close() {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A line to a server that can be cut and mended, as a network can. */
export interface DatabaseLink {
  /** The server's URL, by way of this line. */
  readonly url: string;
  readonly port: number;
  /** Cuts every connection, also new ones at once. */
  cut(): void;
  /** Forwards nothing and ends no connection, as a network that loses every packet. */
  silence(): void;
  /** Forwards again, also what was sent meanwhile. */
  mend(): void;
  /** New connections lead to another server, as behind a proxy that follows the primary. */
  switchTo(port: number): void;
  close(): Promise<void>;
}

export async function openDatabaseLink(serverUrl: string): Promise<DatabaseLink> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let state: "whole" | "cut" | "silent" = "whole";
  let targetPort = Number(target.port);
  const server = createServer((near) => {
    if (state === "cut") {
      near.destroy();
      return;
    }
    const far = connect(targetPort, target.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      if (state === "silent") socket.pause();
      socket.on("data", (data) => {
        if (!other.writable || other.write(data) || state === "silent") return;
        socket.pause();
        other.once("drain", () => state !== "silent" && socket.resume());
      });
      socket.on("end", () => other.end());
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the line has no port");
  const url = new URL(serverUrl);
  url.hostname = "127.0.0.1";
  url.port = String(address.port);
  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    port: address.port,
    cut() {
      state = "cut";
      cutAll();
    },
    silence() {
      state = "silent";
      for (const socket of sockets) socket.pause();
    },
    mend() {
      state = "whole";
      for (const socket of sockets) socket.resume();
    },
    switchTo(port) {
      targetPort = port;
    },
    async close() {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}

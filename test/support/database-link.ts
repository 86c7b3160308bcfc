import { connect, createServer, type Socket } from "node:net";
import { closeServer, listen } from "./servers.ts";

/** A line to a server that can be cut and mended, as a network can. */
export interface DatabaseLink {
  /** The server's URL, by way of this line. */
  readonly url: string;
  readonly port: number;
  /** Connections that were refused while it was cut. */
  readonly refused: number;
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
  let refused = 0;
  const server = createServer((near) => {
    if (state === "cut") {
      refused += 1;
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
  const port = await listen(server);
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${port}`;
  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    port,
    get refused() {
      return refused;
    },
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
    switchTo(other) {
      targetPort = other;
    },
    async close() {
      cutAll();
      await closeServer(server);
    },
  };
}

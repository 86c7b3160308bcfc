import { connect } from "node:net";
import { parentPort } from "node:worker_threads";
import type { Errand } from "./stranger.ts";

parentPort?.on("message", (errand: Errand) => void run(errand));

/**
 * Sends a request over four connections, each time after the answer to the one before, and posts the
 * statuses.
 */
async function run({ port, localAddress, text, times }: Errand): Promise<void> {
  const statuses = new Set<string>();
  let left = times;
  const sendAll = async () => {
    while (left > 0) await overOneConnection();
  };
  await Promise.all(Array.from({ length: 4 }, sendAll));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage([...statuses]);

  /** Resolves when nothing is left to send, or the server closes the connection. */
  function overOneConnection(): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ port, host: "127.0.0.1", localAddress });
      let got = "";
      const next = () => {
        if (left <= 0) return void socket.destroy();
        left--;
        got = "";
        socket.write(text, "latin1");
      };
      socket.on("connect", next).setEncoding("latin1");
      socket.on("data", (piece: string) => {
        got += piece;
        const end = got.indexOf("\r\n\r\n");
        if (end < 0) return;
        const head = got.slice(0, end);
        statuses.add(head.slice(9, 12));
        const length = text.startsWith("HEAD ") ? undefined : /^content-length: (\d+)/im.exec(head)?.[1];
        if (got.length >= end + 4 + Number(length ?? 0) && !/^connection: close/im.test(head)) next();
      });
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
    });
  }
}

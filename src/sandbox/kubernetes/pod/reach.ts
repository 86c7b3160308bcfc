import { connect } from "node:net";
import { z } from "zod";

/** Time limit per address, ms. Networks that drop packets take all of it. */
const ANSWER_MS = 3_000;

const targetsSchema = z.array(z.string());

/**
 * Returns the "host:port" targets that accept connections. A refused connection does not count: some
 * networks deny with one.
 */
export async function reachableTargets(targets: unknown): Promise<string[]> {
  const wanted = targetsSchema.parse(targets);
  const reached = await Promise.all(wanted.map((target) => isReachable(target)));
  return wanted.filter((_, index) => reached[index]);
}

async function isReachable(target: string): Promise<boolean> {
  const at = target.lastIndexOf(":");
  const host = target.slice(0, at).replace(/^\[(.*)\]$/, "$1");
  const port = Number(target.slice(at + 1));
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (answer: boolean) => {
      clearTimeout(late);
      socket.destroy();
      resolve(answer);
    };
    const late = setTimeout(() => end(false), ANSWER_MS);
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}

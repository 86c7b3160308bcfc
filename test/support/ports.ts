import { once } from "node:events";
import { createServer } from "node:net";

/** Below those that Linux gives to outgoing connections, which are many while a server restarts. */
const [FIRST, LAST] = [12_000, 32_000];

const given = new Set<number>();

/** Returns a TCP port of 127.0.0.1 that stays free until its server starts, and while it is down. */
export async function restartPort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (given.has(port)) continue;
    given.add(port);
    const probe = createServer().listen(port, "127.0.0.1");
    const free = await once(probe, "listening").then(
      () => true,
      () => false,
    );
    if (!free) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
}

import { once } from "node:events";
import { createServer } from "node:net";

/** The port as a setting if nobody has it on 127.0.0.1, else "0", which picks a free one: a busy machine must not keep a newcomer out. */
export async function freePort(port: number): Promise<string> {
  const probe = createServer();
  try {
    probe.listen(port, "127.0.0.1");
    await once(probe, "listening");
    return String(port);
  } catch {
    return "0";
  } finally {
    probe.close();
  }
}

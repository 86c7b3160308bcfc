import { setTimeout as sleep } from "node:timers/promises";
import type { LoadProcess } from "./load.ts";
import type { ProofStand } from "./proof-stand.ts";

/** Poll interval of memory, ms. */
const POLL_MS = 40;

/** Memory of one wave of proofs, MB. */
export interface Wave {
  readonly before: number;
  readonly peak: number;
  /** Duration, ms. */
  readonly ms: number;
}

/** Memory during and after the waves, without the first, which grows the heap. */
export interface Waves {
  readonly seen: readonly Wave[];
  /** MB, garbage collected. */
  readonly left: number;
}

/** Sends waves of proofs and measures the gateway's memory; undefined if unavailable. */
export async function waves(
  stand: ProofStand,
  load: LoadProcess,
  { count, size }: { count: number; size: number },
): Promise<Waves | undefined> {
  const { server } = stand.gateway;
  const collected = async () => {
    await server.collectGarbage();
    return server.residentMegabytes();
  };
  const seen: Wave[] = [];
  let rest: number | undefined;
  for (let wave = 0; wave < count; wave++) {
    const calls = await stand.pay(size);
    if (wave === 1) rest = await collected();
    const before = await server.residentMegabytes();
    if (before === undefined) return undefined;
    let peak = before;
    const looking = new AbortController();
    const look = async (): Promise<void> => {
      while (!looking.signal.aborted) {
        peak = Math.max(peak, (await server.residentMegabytes()) ?? 0);
        await sleep(POLL_MS);
      }
    };
    const looked = look();
    const ms = await stand.send(load, calls, size).finally(() => looking.abort());
    await looked;
    if (wave > 0) seen.push({ before, peak, ms });
  }
  const after = await collected();
  return rest === undefined || after === undefined ? undefined : { seen, left: after - rest };
}

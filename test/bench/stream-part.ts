import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, HttpTarget } from "./bench.ts";
import { compare, median, type Side } from "./measure.ts";
import { cpuLine, figure, type Line } from "./report.ts";
import { readStreams, type ReadAll } from "./stream-readers.ts";

const PEER = "node:http proxy";
const STREAMS = 16;
const CHUNKS = 200;
const PAUSE_MS = 5;
/** Limits relative to a proxy that parses, stores and charges nothing. */
const [FIRST, DELAY, CPU] = [10, 3, 8];
/** Memory at the end of long streams relative to their start. */
const FLAT = 1.25;

/** Compares streamed chats with a bare proxy of the same server, and measures memory of many streams. */
export async function streams(bench: Bench): Promise<Line[]> {
  const { world, plan, scale, profile } = bench;
  const model = await bench.peer("test/bench/stream-peer/main.ts", { args: ["model"] });
  const INFERENCE_BASE_URL = `http://127.0.0.1:${model.port}/v1`;
  const served = await world.serve({ profile, env: { INFERENCE_BASE_URL } });
  const ours = { server: served.server, port: served.httpPort };
  const peer = await bench.peer("test/bench/stream-peer/main.ts", { args: ["proxy", String(model.port)] });
  const [key = ""] = await world.createAccounts(1, "1000");
  const seen = new Map<HttpTarget, ReadAll[]>();
  const side =
    (target: HttpTarget): Side =>
    () =>
      readRound(target, key, seen);
  await side(ours)();
  await side(peer)();
  seen.clear();
  const comparison = await compare(side(ours), side(peer), plan);
  const ratio = (measure: string, of: (read: ReadAll) => number, atMost: number): Line => {
    const [mine, other] = [ours, peer].map((target) => (seen.get(target) ?? []).map(of));
    const value = median((mine ?? []).map((ms, round) => ms / (other?.[round] ?? Number.NaN))) ?? Number.NaN;
    const [gateway, bare] = [mine, other].map((all = []) => `${figure(median(all) ?? Number.NaN)} ms`);
    return { measure, gateway: gateway ?? "", peer: `${PEER} ${bare}`, value, bar: { atMost } };
  };
  return [
    ratio("stream: time to the first chunk", ({ firstMs }) => firstMs, FIRST),
    ratio("stream: delay of a chunk", ({ delayMs }) => delayMs, DELAY),
    ...cpuLine("stream: a chunk", comparison, PEER, CPU),
    ...(await memoryLines(bench, ours, key, scale.streams)),
  ];
}

async function readRound(
  target: HttpTarget,
  key: string,
  seen: Map<HttpTarget, ReadAll[]>,
): Promise<{ perSecond: number; cpuMicros: number }> {
  const [since, before] = [performance.now(), await target.server.cpuSeconds()];
  const read = await readStreams(target.port, key, { streams: STREAMS, chunks: CHUNKS, pauseMs: PAUSE_MS });
  const cpuMicros = (((await target.server.cpuSeconds()) - before) * 1_000_000) / read.chunks;
  seen.set(target, [...(seen.get(target) ?? []), read]);
  return { perSecond: read.chunks / ((performance.now() - since) / 1_000), cpuMicros };
}

/** Resident memory late in many streams relative to early in them; none where it cannot be measured. */
async function memoryLines(
  { signal, plan }: Bench,
  { server, port }: HttpTarget,
  key: string,
  count: number,
): Promise<Line[]> {
  const resident = async () => {
    await server.collectGarbage();
    return server.residentMegabytes();
  };
  const lengthMs = 12 * plan.windowMs;
  const pauseMs = Math.max(20, lengthMs / 60);
  const reading = readStreams(port, key, { streams: count, chunks: Math.ceil(lengthMs / pauseMs), pauseMs });
  await sleep(lengthMs / 3, undefined, { signal });
  const early = await resident();
  await sleep(lengthMs / 2, undefined, { signal });
  const late = await resident();
  await reading;
  if (early === undefined || late === undefined) return [];
  return [
    {
      measure: `${count} streams at once (RSS)`,
      gateway: `${late.toFixed(0)} MB late in them`,
      peer: `${early.toFixed(0)} MB early in them`,
      value: late / early,
      bar: { atMost: FLAT },
    },
  ];
}

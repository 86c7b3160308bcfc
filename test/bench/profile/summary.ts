import { z } from "zod";

/** Parts of the files that profilers of V8 write (Chrome DevTools Protocol, Profiler.Profile). */
const profile = z.object({
  nodes: z.array(
    z.object({
      id: z.int(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.int() }),
      children: z.array(z.int()).optional(),
    }),
  ),
  samples: z.array(z.int()),
  timeDeltas: z.array(z.number()),
});

/** One line: a place in the code, and the share of the busy time that was spent there itself. */
export interface Share {
  readonly place: string;
  /** Of 1. */
  readonly share: number;
}

/** Where a server's time went. */
export interface ProfileSummary {
  /** Time in which it did something, ms. */
  readonly busyMs: number;
  /** By what the code belongs to: a package, Node's own modules, a folder of ours. */
  readonly owners: readonly Share[];
  /** By function. */
  readonly functions: readonly Share[];
}

const IDLE = new Set(["(idle)", "(root)"]);

/** Reads a `.cpuprofile`. @param from share of the recording that is left out at the beginning, of 1: the start of the server */
export function summarize(text: string, from = 0): ProfileSummary {
  const { nodes, samples, timeDeltas } = profile.parse(JSON.parse(text));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const [owners, functions] = [new Map<string, number>(), new Map<string, number>()];
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id);
    const micros = timeDeltas[index] ?? 0;
    if (index < samples.length * from || !frame || IDLE.has(frame.functionName)) continue;
    busy += micros;
    const owner = ownerOf(frame.url, frame.functionName);
    const place = `${frame.functionName || "(anonymous)"} ${placeOf(frame.url, frame.lineNumber + 1)}`.trim();
    owners.set(owner, (owners.get(owner) ?? 0) + micros);
    functions.set(place, (functions.get(place) ?? 0) + micros);
  }
  return { busyMs: busy / 1000, owners: shares(owners, busy), functions: shares(functions, busy) };
}

function shares(times: ReadonlyMap<string, number>, whole: number): Share[] {
  return [...times]
    .map(([place, micros]) => ({ place, share: micros / whole }))
    .sort((one, other) => other.share - one.share);
}

/** What a function belongs to. V8 tells native code, the collector and the like by names in parentheses without a file. */
function ownerOf(url: string, name: string): string {
  if (url === "") return name.startsWith("(") ? name : "(native)";
  if (url.startsWith("node:")) return url;
  const inPackage = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url)?.[1];
  return inPackage ?? pathOf(url).split("/").slice(0, 3).join("/");
}

function placeOf(url: string, line: number): string {
  return url === "" ? "" : `${url.startsWith("node:") ? url : pathOf(url)}:${line}`;
}

function pathOf(url: string): string {
  return url.replace(/^.*?\/(?=(?:src|gen|node_modules)\/)/, "");
}

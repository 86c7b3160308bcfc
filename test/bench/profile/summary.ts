import { z } from "zod";
import { groupOf, type Frame } from "./groups.ts";

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

/** Shares of a server's time, largest first. */
export interface ProfileSummary {
  /** Time in which it did something, ms. */
  readonly busyMs: number;
  /** By purpose: groups.ts. */
  readonly groups: readonly Share[];
  /** By origin: a package, Node's own modules, a folder of the project. */
  readonly owners: readonly Share[];
  /** By function. */
  readonly functions: readonly Share[];
}

const IDLE = new Set(["(idle)", "(root)"]);

/**
 * Reads a `.cpuprofile`.
 * @param afterMs omitted start of the recording, ms
 */
export function summarize(text: string, afterMs: number): ProfileSummary {
  const { nodes, samples, timeDeltas } = profile.parse(JSON.parse(text));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const groupAt = groupsOf(nodes);
  const [groups, owners, functions] = [new Tally(), new Tally(), new Tally()];
  let [busy, passed] = [0, 0];
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id);
    const micros = timeDeltas[index] ?? 0;
    passed += micros;
    if (passed < afterMs * 1000 || !frame || IDLE.has(frame.functionName)) continue;
    busy += micros;
    groups.add(groupAt.get(id) ?? "other parts of Node", micros);
    owners.add(ownerOf(frame), micros);
    functions.add(
      `${frame.functionName || "(anonymous)"} ${placeOf(frame.url, frame.lineNumber + 1)}`.trim(),
      micros,
    );
  }
  return {
    busyMs: busy / 1000,
    groups: groups.shares(busy),
    owners: owners.shares(busy),
    functions: functions.shares(busy),
  };
}

/** Time by place. */
class Tally {
  readonly #times = new Map<string, number>();

  add(place: string, micros: number): void {
    this.#times.set(place, (this.#times.get(place) ?? 0) + micros);
  }

  shares(whole: number): Share[] {
    return [...this.#times]
      .map(([place, micros]) => ({ place, share: micros / whole }))
      .sort((one, other) => other.share - one.share);
  }
}

/** The group of each node; built-in functions count for the nearest other caller. */
function groupsOf(nodes: z.output<typeof profile>["nodes"]): ReadonlyMap<number, string> {
  const groups = new Map<number, string>();
  // Parents precede their children.
  for (const { id, callFrame, children = [] } of nodes) {
    const group = groupOf(callFrame) ?? groups.get(id);
    if (group === undefined) continue;
    groups.set(id, group);
    for (const child of children) groups.set(child, group);
  }
  return groups;
}

/** V8 names native code and the garbage collector in parentheses, without a file. */
function ownerOf({ url, functionName }: Frame): string {
  if (url === "") return functionName.startsWith("(") ? functionName : "(native)";
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

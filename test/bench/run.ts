import { z } from "zod";
import type { Bench, Part } from "./bench.ts";
import { LoadProcess } from "./load.ts";
import { isShort, loaded } from "./measure.ts";
import { countStolen } from "./machine.ts";
import { profileFolder } from "./profile/take.ts";
import type { Line } from "./report.ts";
import type { Form } from "./scale.ts";
import { ServerProcess } from "./server-process.ts";
import { startWorld, type World } from "./world.ts";
import { HAS_WRK, wrkSide } from "./wrk.ts";

const peerReady = z.object({ port: z.int() });

/** Outcome of a part, and its duration with set-up; `stolen` as in results.ts. */
export type Outcome = {
  readonly part: Part;
  readonly seconds: number;
  readonly stolen: number | undefined;
} & ({ readonly lines: Line[] } | { readonly error: unknown });

/** How the parts run. */
export interface RunOptions {
  readonly form: Form;
  readonly signal: AbortSignal;
  /** The folder for CPU profiles of the gateway. */
  readonly profile: string | undefined;
  /** Called when a part and its processes have ended. */
  readonly ended: (outcome: Outcome) => Promise<void>;
}

/** Runs the parts. Reports a failed part and continues with the others. */
export async function runParts(
  parts: readonly Part[],
  { form, signal, profile, ended }: RunOptions,
): Promise<void> {
  const world = await startWorld(form.sideBySide !== undefined);
  try {
    const shared =
      form.sideBySide === undefined || profile !== undefined ? undefined : await serveAll(world, parts);
    // Side by side, the longest begin, which are the last ones: nothing else may be left to run beside them.
    const left = form.sideBySide === undefined ? [...parts] : parts.toReversed();
    const next = async (): Promise<void> => {
      for (let part = left.shift(); part && !signal.aborted; part = left.shift()) {
        const folder = profile === undefined ? undefined : profileFolder(profile, part.name);
        const [began, stolen] = [performance.now(), await countStolen()];
        const common = part.ownDatabase ? undefined : shared;
        const served = part.ownGateway ? undefined : folder;
        const rest = { ...form, world, signal, profile: folder };
        const made = await runPart(part, rest, common, () => serveOne(world, part, served));
        const seconds = (performance.now() - began) / 1000;
        if (!signal.aborted) await ended({ part, seconds, stolen: await stolen?.(), ...made });
      }
    };
    await Promise.all(Array.from({ length: form.sideBySide ?? 1 }, next));
  } finally {
    await world.close();
  }
}

/** The gateway that a part works with, and its database. */
type Served = Pick<Bench, "gateway" | "databaseUrl">;

/** One gateway for all parts. */
async function serveAll(world: World, parts: readonly Part[]): Promise<Served> {
  const env = Object.assign(
    {},
    ...parts.filter(({ ownDatabase }) => !ownDatabase).map(({ settings }) => settings?.(world)),
  );
  return { gateway: await world.serve({ env }), databaseUrl: world.databaseUrl };
}

/** A part's own gateway. */
async function serveOne(world: World, part: Part, profile: string | undefined): Promise<Served> {
  const databaseUrl = part.ownDatabase ? await world.createDatabase(part.name) : world.databaseUrl;
  return {
    gateway: await world.serve({ profile, databaseUrl, env: part.settings?.(world) ?? {} }),
    databaseUrl,
  };
}

/** Runs a part against a shared gateway or its own. */
async function runPart(
  part: Part,
  { plan, scale, world, signal, profile }: Form & Pick<Bench, "world" | "signal" | "profile">,
  shared: Served | undefined,
  serve: () => Promise<Served>,
): Promise<{ lines: Line[] } | { error: unknown }> {
  const started: { stop(): Promise<void> }[] = [];
  try {
    const served = shared ?? (await serve());
    if (!shared) started.push(served.gateway.server);
    const loadOf = (kind: "http" | "grpc") => {
      const load = new LoadProcess(kind);
      started.push(load);
      return load;
    };
    let generator: LoadProcess | undefined;
    const bench: Bench = {
      ...{ ...served, world, plan, scale, signal, profile, load: loadOf },
      http({ server, port }, { pinned = true, ...rest }) {
        const job = { host: "127.0.0.1", port, ...rest };
        const load = (generator ??= loadOf("http"));
        return HAS_WRK && !isShort(plan)
          ? wrkSide(load, server, job, { plan, signal, pinned })
          : loaded(load, server, job, plan, signal);
      },
      async peer(file, options) {
        const server = await ServerProcess.start(file, options);
        started.push(server);
        return { server, port: peerReady.parse(server.ready).port };
      },
    };
    return { lines: await part.run(bench) };
  } catch (error) {
    return { error };
  } finally {
    await Promise.allSettled(started.map((each) => each.stop()));
  }
}

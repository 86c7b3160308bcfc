import { z } from "zod";
import type { Bench, Part } from "./bench.ts";
import { LoadProcess } from "./load.ts";
import { profileFolder } from "./profile/take.ts";
import type { Line } from "./report.ts";
import type { Form } from "./scale.ts";
import { ServerProcess } from "./server-process.ts";
import { startWorld, type ServedGateway } from "./world.ts";

const peerReady = z.object({ port: z.int() });

/** What came of a part. */
export type Outcome =
  | { readonly part: Part; readonly lines: Line[] }
  | { readonly part: Part; readonly error: unknown };

/** How the parts run. */
export interface RunOptions {
  readonly form: Form;
  readonly signal: AbortSignal;
  /** The folder for CPU profiles of the gateway. */
  readonly profile: string | undefined;
  /** Hears of each part as soon as its gateway and its peers have ended. */
  readonly ended: (outcome: Outcome) => Promise<void>;
}

/** Runs parts in one world. A part that fails is told of and keeps no other from running. */
export async function runParts(parts: readonly Part[], { form, signal, profile, ended }: RunOptions): Promise<void> {
  const world = await startWorld();
  try {
    const shared = form.sideBySide === undefined || profile !== undefined ? undefined : await world.serve();
    const left = [...parts];
    const next = async (): Promise<void> => {
      for (let part = left.shift(); part && !signal.aborted; part = left.shift()) {
        const folder = profile === undefined ? {} : { profile: profileFolder(profile, part.name) };
        const outcome = await runPart(part, { ...form, world, signal }, shared, () => world.serve(folder));
        if (!signal.aborted) await ended(outcome);
      }
    };
    await Promise.all(Array.from({ length: form.sideBySide ?? 1 }, next));
  } finally {
    await world.close();
  }
}

/** Runs a part against a gateway that others use as well, or one of its own. */
async function runPart(
  part: Part,
  { plan, scale, world, signal }: Form & Pick<Bench, "world" | "signal">,
  shared: ServedGateway | undefined,
  serve: () => Promise<ServedGateway>,
): Promise<Outcome> {
  const started: { stop(): Promise<void> }[] = [];
  try {
    const gateway = shared ?? (await serve());
    if (!shared) started.push(gateway.server);
    const bench: Bench = {
      ...{ world, gateway, plan, scale, signal },
      load(kind) {
        const load = new LoadProcess(kind);
        started.push(load);
        return load;
      },
      async peer(file, options) {
        const server = await ServerProcess.start(file, options);
        started.push(server);
        return { server, port: peerReady.parse(server.ready).port };
      },
    };
    return { part, lines: await part.run(bench) };
  } catch (error) {
    return { part, error };
  } finally {
    await Promise.allSettled(started.map((each) => each.stop()));
  }
}

import type { ModelAlias } from "../../domain/tools/chat.ts";
import type { PreparedCall } from "../../domain/tools/tool.ts";

interface KnownModels {
  readonly offered: ReadonlySet<string>;
  /** Models no longer offered, whose quotes may still be paid. */
  readonly former: Iterable<string>;
  /** Undefined: all are. */
  readonly isHealthy: ((model: string) => boolean) | undefined;
}

type Prepare = (model: string) => PreparedCall;

/**
 * Prepares a call for a model of the alias: a healthy one that takes the call, otherwise any that takes it.
 * The prepared call keeps its model.
 * @throws ToolgateError INVALID_REQUEST if none takes it
 */
export function aliasedCall(alias: ModelAlias, models: KnownModels, prepare: Prepare): PreparedCall {
  const { offered, former, isHealthy = () => true } = models;
  const candidates = alias.models.filter((model) => offered.has(model));
  const healthy = candidates.filter(isHealthy);
  const others = candidates.filter((model) => !healthy.includes(model));
  const chosen = bestOf(alias, healthy, prepare) ?? bestOf(alias, others, prepare);
  // Throws what the first model has against the call; the alias itself is no model.
  if (!chosen) return prepare(candidates[0] ?? alias.id);
  const known = () => [...new Set([...alias.models, ...offered, ...former])];
  const quoted = (isQuoted: (model: string) => boolean): PreparedCall | undefined => {
    const model = known().find(isQuoted);
    return model === undefined ? undefined : chosenCall(model, prepare(model));
  };
  const chosenCall = (name: string, call: PreparedCall): PreparedCall => ({
    get price() {
      return call.price;
    },
    run: (context) => call.run(context),
    choice: { name, quoted },
  });
  return chosenCall(chosen.model, chosen.call);
}

interface Candidate {
  readonly model: string;
  readonly call: PreparedCall;
}

function bestOf({ by }: ModelAlias, models: readonly string[], prepare: Prepare): Candidate | undefined {
  let best: Candidate | undefined;
  for (const model of models) {
    const call = attempt(() => prepare(model));
    if (!call) continue;
    if (by === "order") return { model, call };
    if (!best || call.price < best.call.price) best = { model, call };
  }
  return best;
}

/** A model may have too short a context, or take no images. */
function attempt(prepare: () => PreparedCall): PreparedCall | undefined {
  try {
    return prepare();
  } catch {
    return undefined;
  }
}

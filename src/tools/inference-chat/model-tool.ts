import type { JsonObject } from "../../domain/core/json.ts";
import type { ChatModel, ModelAlias } from "../../domain/tools/chat.ts";
import type { Form, PreparedCall, Tool } from "../../domain/tools/tool.ts";
import { type DefinedTool, unavailableTool } from "../define-tool.ts";
import type { WithdrawnModels } from "../withdrawn-models.ts";

/** The calls of some models. A prepared call keeps the terms it was priced at. */
export interface ModelForms {
  readonly listed: Pick<Tool, "status" | "description" | "inputSchema">;
  readonly tool: PrepareFor;
  /** By the API of their body. */
  readonly apis: Readonly<Partial<Record<Form, PrepareFor>>>;
}

/**
 * Prepares a call for a model, whatever model the parameters name; the same parameters are validated once.
 * @param model undefined: they name none
 */
export type PrepareFor = (params: JsonObject, model: string | undefined) => PreparedCall;

interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly isMetered: boolean;
  readonly former: WithdrawnModels;
  /** The models of all kinds: the same array until they change. */
  readonly models: () => readonly ChatModel[];
  /** Names for one of its models. */
  readonly aliases?: readonly ModelAlias[];
  readonly isHealthy?: ((model: string) => boolean) | undefined;
  readonly sells: (model: ChatModel) => boolean;
  readonly forms: readonly Form[];
  readonly formsFor: (models: readonly ChatModel[]) => ModelForms;
}

/** A long conversation. */
const MAX_PARAMS_BYTES = 1024 * 1024;

const ANNOTATIONS = { readOnlyHint: false, destructiveHint: false, openWorldHint: true };

export function modelTool(definition: ModelTool): Tool {
  const { name, isMetered, former, sells, forms, formsFor, aliases = [], isHealthy } = definition;
  const waiting = withoutModels(name, `${definition.description} Not available at present: no model.`);
  const refuse: PrepareFor = (input) => waiting.prepare(input);
  const none: ModelForms = { listed: waiting, tool: refuse, apis: {} };
  let all: readonly ChatModel[] = [];
  let offered: { models: readonly ChatModel[]; forms: ModelForms } = { models: [], forms: none };
  const current = () => {
    const now = definition.models();
    if (now === all) return offered;
    all = now;
    const models = now.filter(sells);
    former.update(offered.models, models);
    offered = { models, forms: models.length === 0 ? none : formsFor(models) };
    return offered;
  };
  const named = new Map(aliases.map((alias) => [alias.id, alias]));
  const prepare = (form: Form | undefined, input: JsonObject): PreparedCall => {
    const of = ({ tool, apis }: ModelForms) => (form === undefined ? tool : (apis[form] ?? refuse));
    const prepareFor: PrepareFor = (same, model) => {
      const now = () => of(current().forms)(same, model);
      // Notices models that were withdrawn.
      current();
      const gone = former.find(model);
      return gone && sells(gone) ? unquotedCall(now, of(formsFor([gone]))(same, model)) : now();
    };
    const id = typeof input["model"] === "string" ? input["model"] : undefined;
    const alias = id === undefined ? undefined : named.get(id);
    if (!alias) return prepareFor(input, id);
    const offers = current().models.map((model) => model.id);
    const models = { offered: new Set(offers), former: former.ids(), isHealthy };
    return aliasedCall(alias, models, (model) => prepareFor(input, model));
  };
  return {
    name,
    billable: waiting.billable,
    scope: waiting.scope,
    fixedPrice: undefined,
    metered: isMetered,
    maxParamsBytes: MAX_PARAMS_BYTES,
    annotations: ANNOTATIONS,
    get status() {
      return current().forms.listed.status;
    },
    get description() {
      return current().forms.listed.description;
    },
    get inputSchema() {
      return current().forms.listed.inputSchema;
    },
    prepare: (input) => prepare(undefined, input),
    modelApi: {
      forms: new Set(forms),
      get models() {
        return current().models;
      },
      get aliases() {
        return offeredAliases(aliases, current().models);
      },
      prepare,
    },
  };
}

/** Returns the aliases that have a model, with the models that they have. */
export function offeredAliases(
  aliases: readonly ModelAlias[],
  models: readonly ChatModel[],
): readonly ModelAlias[] {
  const offered = new Set(models.map(({ id }) => id));
  return aliases
    .map((alias) => ({ ...alias, models: alias.models.filter((id) => offered.has(id)) }))
    .filter((alias) => alias.models.length > 0);
}

/** Returns the form of a tool that has a parameter `model`. */
export function toolForm(tool: DefinedTool<{ model: string }>): Pick<ModelForms, "listed" | "tool"> {
  return {
    listed: tool,
    tool: (params, model) => tool.prepareWith(params, model === undefined ? {} : { model }),
  };
}

/** Returns a model tool that is listed but cannot be called. */
export function withoutModels(name: string, description: string): Tool {
  return unavailableTool({ name, description, scope: "inference:write", billable: true });
}

/** A call for a withdrawn model: no new quote; a paid earlier quote is credited, and the call fails. */
function unquotedCall(prepare: () => PreparedCall, paid: PreparedCall): PreparedCall {
  return {
    get price() {
      return prepare().price;
    },
    run: (context) => paid.run(context),
  };
}

interface KnownModels {
  readonly offered: ReadonlySet<string>;
  /** Models no longer offered, whose quotes may still be paid. */
  readonly former: Iterable<string>;
  /** Undefined: all are. */
  readonly isHealthy: ((model: string) => boolean) | undefined;
}

type Prepare = (model: string) => PreparedCall;

/** Prepares a call for a model of the alias that takes it, a healthy one first. @throws ToolgateError */
function aliasedCall(alias: ModelAlias, models: KnownModels, prepare: Prepare): PreparedCall {
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
    promptTokens: call.promptTokens,
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

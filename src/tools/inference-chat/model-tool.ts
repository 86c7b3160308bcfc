import type { JsonObject } from "../../domain/core/json.ts";
import type { ChatModel, ModelAlias } from "../../domain/tools/chat.ts";
import type { PreparedCall, Tool } from "../../domain/tools/tool.ts";
import { unavailableTool } from "../define-tool.ts";
import { aliasedCall } from "./aliased-call.ts";
import type { WithdrawnModels } from "./withdrawn-models.ts";

/** The calls of some models. A prepared call keeps the terms it was priced at. */
export interface ModelForms {
  readonly tool: Tool;
  /** Prepares a body of the OpenAI API. */
  readonly openai: (body: JsonObject) => PreparedCall;
}

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
  readonly formsFor: (models: readonly ChatModel[]) => ModelForms;
}

const ANNOTATIONS = { readOnlyHint: false, destructiveHint: false, openWorldHint: true };

/** Returns the tool that calls models; unavailable while there are none. */
export function modelTool(definition: ModelTool): Tool {
  const { name, isMetered, former, sells, formsFor, aliases = [], isHealthy } = definition;
  const waiting = withoutModels(name, `${definition.description} Not available at present: no model.`);
  const none: ModelForms = { tool: waiting, openai: (body) => waiting.prepare(body) };
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
  const withdrawn = (input: JsonObject): ChatModel | undefined => {
    const gone = former.find(input["model"]);
    return gone && sells(gone) ? gone : undefined;
  };
  const named = new Map(aliases.map((alias) => [alias.id, alias]));
  const resolved = (input: JsonObject, prepare: (input: JsonObject) => PreparedCall): PreparedCall => {
    const { model: id } = input;
    const alias = typeof id === "string" ? named.get(id) : undefined;
    if (!alias) return prepare(input);
    const offers = current().models.map((model) => model.id);
    const models = { offered: new Set(offers), former: former.ids(), isHealthy };
    return aliasedCall(alias, models, (model) => prepare({ ...input, model }));
  };
  return {
    name,
    billable: waiting.billable,
    scope: waiting.scope,
    fixedPrice: undefined,
    metered: isMetered,
    annotations: ANNOTATIONS,
    get status() {
      return current().forms.tool.status;
    },
    get description() {
      return current().forms.tool.description;
    },
    get inputSchema() {
      return current().forms.tool.inputSchema;
    },
    prepare: (input) =>
      resolved(input, (named) => {
        const { tool } = current().forms;
        const gone = withdrawn(named);
        if (!gone) return tool.prepare(named);
        return unquotedCall((same) => tool.prepare(same), formsFor([gone]).tool.prepare(named), named);
      }),
    openai: {
      get models() {
        return current().models;
      },
      get aliases() {
        return offeredAliases(aliases, current().models);
      },
      prepare: (body) =>
        resolved(body, (named) => {
          const { openai } = current().forms;
          const gone = withdrawn(named);
          return gone ? unquotedCall(openai, formsFor([gone]).openai(named), named) : openai(named);
        }),
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

/** Returns a model tool that is listed but cannot be called. */
export function withoutModels(name: string, description: string): Tool {
  return unavailableTool({ name, description, scope: "inference:write", billable: true });
}

/**
 * A call for a withdrawn model. It gets no new quote, but a paid earlier quote still credits its payment;
 * the call then fails uncharged.
 */
function unquotedCall(
  prepare: (input: JsonObject) => PreparedCall,
  paid: PreparedCall,
  input: JsonObject,
): PreparedCall {
  return {
    get price() {
      return prepare(input).price;
    },
    run: (context) => paid.run(context),
  };
}

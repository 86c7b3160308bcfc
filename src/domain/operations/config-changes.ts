import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import { displayUsd } from "../core/money.ts";
import { DEFAULT_TIER } from "../accounts/caller.ts";
import { breakingChanges } from "./breaking-changes.ts";

export interface OfferedTool {
  readonly name: string;
  /** Undefined while its server has not described it. */
  readonly inputSchema: JsonObject | undefined;
}

/** A change between two documents, in words. */
export interface ConfigChange {
  readonly kind: "tool" | "price" | "schema" | "model" | "setting";
  /** Whether callers that work today can fail or pay more. */
  readonly affectsCallers: boolean;
  readonly text: string;
}

interface ChangedDocument {
  readonly document: JsonObject;
  readonly tools: readonly OfferedTool[];
}

/** @param defaults prices that hold where a document has none */
export function configChanges(
  before: ChangedDocument,
  after: ChangedDocument,
  defaults: JsonObject,
): ConfigChange[] {
  const inference = leafChanges("inference", inferenceOf(before.document), inferenceOf(after.document));
  return [
    ...toolChanges(listed(before.document["tools"]), listed(after.document["tools"])),
    ...schemaChanges(before.tools, after.tools),
    ...modelChanges(modelsOf(before.document), modelsOf(after.document)),
    ...priceChanges(leafChanges("prices", before.document["prices"], after.document["prices"]), defaults),
    ...priceChanges(inference.filter(isPrice), defaults),
    ...inference
      .filter((leaf) => !isPrice(leaf))
      .map((leaf) => ({ ...settingChange(leaf), affectsCallers: leaf.path === "inference.aliases" })),
    ...tierChanges(tiersOf(before.document), tiersOf(after.document)),
    ...leafChanges("sandbox", before.document["sandbox"], after.document["sandbox"]).map((leaf) => ({
      ...settingChange(leaf),
      text: `${settingChange(leaf).text}; takes effect when an instance starts`,
    })),
    ...fileChanges(before.document["files"], after.document["files"]),
  ];
}

type Named = ReadonlyMap<string, JsonObject>;

function toolChanges(before: Named, after: Named): ConfigChange[] {
  const removed = [...before.keys()].filter((name) => !after.has(name));
  const added = [...after].filter(([name]) => !before.has(name));
  const kept = [...after].flatMap(([name, tool]) => {
    const old = before.get(name);
    return old ? changesOfTool(name, old, tool) : [];
  });
  return [
    ...removed.map((name): ConfigChange => ({
      kind: "tool",
      affectsCallers: true,
      text: `tool ${name}: disappears; calls are refused with TOOL_NOT_FOUND`,
    })),
    ...added.map(([name, tool]): ConfigChange => ({
      kind: "tool",
      affectsCallers: false,
      text: `tool ${name}: appears, ${priceWords(tool["price"])}`,
    })),
    ...kept,
  ];
}

function changesOfTool(name: string, before: JsonObject, after: JsonObject): ConfigChange[] {
  const { price: oldPrice = null, ...old } = before;
  const { price = null, ...now } = after;
  const moved = leafChanges("price", oldPrice, price).length > 0;
  const settings = leafChanges(`tool ${name}`, old, now).map(settingChange);
  if (!moved) return settings;
  const words = [oldPrice, price].map(priceWords);
  return [{ kind: "price", affectsCallers: true, text: `tool ${name}: ${words.join(" → ")}` }, ...settings];
}

function priceWords(price: JsonValue | undefined): string {
  if (!isJsonObject(price)) return "without a price";
  if (price["free"] === true) return "free";
  const { flat_microusd: flat } = price;
  return typeof flat === "number" ? usd(flat) : `priced by ${JSON.stringify(price)}`;
}

function schemaChanges(before: readonly OfferedTool[], after: readonly OfferedTool[]): ConfigChange[] {
  const known = new Map(before.map((tool) => [tool.name, tool.inputSchema]));
  return after.flatMap(({ name, inputSchema }): ConfigChange[] => {
    if (!known.has(name)) return [];
    const old = known.get(name);
    if (!old || !inputSchema) {
      const text = `tool ${name}: its parameters are unknown here, because its server did not describe them`;
      return [{ kind: "schema", affectsCallers: false, text }];
    }
    return breakingChanges(old, inputSchema).map((problem) => ({
      kind: "schema",
      affectsCallers: true,
      text: `tool ${name}: breaks its callers: ${problem}`,
    }));
  });
}

function modelsOf(document: JsonObject): Named {
  const upstreams = listed(isJsonObject(document["inference"]) ? document["inference"]["upstreams"] : []);
  return new Map(
    [...upstreams].flatMap(([upstream, { models, embedding_models }]) =>
      [...listed(models, "id"), ...listed(embedding_models, "id")].map(
        ([id, model]) => [`${id} of ${upstream}`, model] as const,
      ),
    ),
  );
}

function modelChanges(before: Named, after: Named): ConfigChange[] {
  return [
    ...[...before.keys()]
      .filter((name) => !after.has(name))
      .map((name): ConfigChange => ({
        kind: "model",
        affectsCallers: true,
        text: `model ${name}: disappears`,
      })),
    ...[...after.keys()]
      .filter((name) => !before.has(name))
      .map((name): ConfigChange => ({
        kind: "model",
        affectsCallers: false,
        text: `model ${name}: appears`,
      })),
    ...[...after].flatMap(([name, model]) => {
      const old = before.get(name);
      return old ? changesOfModel(name, old, model) : [];
    }),
  ];
}

function changesOfModel(name: string, before: JsonObject, after: JsonObject): ConfigChange[] {
  const { cost: oldCost, ...old } = before;
  const { cost, ...now } = after;
  return [
    ...leafChanges(`model ${name}`, old, now).map((leaf): ConfigChange => ({
      ...settingChange(leaf),
      kind: leaf.path.includes("_usd_per_million") ? "price" : "setting",
      affectsCallers: true,
    })),
    ...leafChanges(`model ${name}.cost`, oldCost, cost).map(settingChange),
  ];
}

function tiersOf({ tiers = {} }: JsonObject): JsonObject {
  const { ratePerMinute, burst } = DEFAULT_TIER;
  return { default: { rate_per_minute: ratePerMinute, burst }, ...asObject(tiers) };
}

/** No account has a tier that disappears. */
function tierChanges(before: JsonObject, after: JsonObject): ConfigChange[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].sort().flatMap((name) => {
    const [old, now] = [before[name], after[name]];
    if (old === undefined || now === undefined) {
      const words = old === undefined ? `appears, ${JSON.stringify(now)}` : "disappears";
      return [{ kind: "setting", affectsCallers: false, text: `tier ${name}: ${words}` }] as const;
    }
    return leafChanges(`tier ${name}`, old, now).map((leaf): ConfigChange => ({
      ...settingChange(leaf),
      // A limit that replaces a default, or is replaced by it, counts as lower.
      affectsCallers: !(Number(leaf.after) > Number(leaf.before)),
    }));
  });
}

/** The section without what {@link modelChanges} reports. */
function inferenceOf({ inference = {} }: JsonObject): JsonValue {
  if (!isJsonObject(inference)) return {};
  const upstreams: JsonObject = {};
  for (const [name, { models: _, embedding_models: __, ...upstream }] of listed(inference["upstreams"]))
    upstreams[name] = upstream;
  return { ...inference, upstreams };
}

function fileChanges(before: JsonValue | undefined, after: JsonValue | undefined): ConfigChange[] {
  return leafChanges("files", before, after).map(({ path, before: old, after: now }) => ({
    kind: "setting",
    affectsCallers: false,
    text: `${path}: ${old === undefined ? "appears" : now === undefined ? "disappears" : "changes"}`,
  }));
}

interface Leaf {
  readonly path: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/** Differences at the deepest members; arrays count as one value. */
function leafChanges(path: string, before: JsonValue | undefined, after: JsonValue | undefined): Leaf[] {
  if (isJsonObject(before ?? {}) && isJsonObject(after ?? {})) {
    const [old, now] = [asObject(before), asObject(after)];
    const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
    return names.flatMap((name) => leafChanges(`${path}.${name}`, old[name], now[name]));
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
}

function asObject(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function isPrice({ path }: Leaf): boolean {
  return path.endsWith("_usd_per_million");
}

function priceChanges(leaves: readonly Leaf[], defaults: JsonObject): ConfigChange[] {
  return leaves.flatMap(({ path, before: old, after: now }): ConfigChange[] => {
    const usual = path
      .split(".")
      .reduce<JsonValue | undefined>((part, name) => asObject(part)[name], defaults);
    if (JSON.stringify(old ?? usual) === JSON.stringify(now ?? usual)) return [];
    const words = (value: JsonValue | undefined) =>
      value === undefined ? `${priceText(path, usual)} (its default)` : priceText(path, value);
    return [{ kind: "price", affectsCallers: true, text: `${path}: ${words(old)} → ${words(now)}` }];
  });
}

function priceText(path: string, value: JsonValue | undefined): string {
  return typeof value === "number" && path.endsWith("microusd")
    ? usd(value)
    : (JSON.stringify(value) ?? "none");
}

function settingChange({ path, before, after }: Leaf): ConfigChange {
  const words = [before, after].map((value) => (value === undefined ? "its default" : JSON.stringify(value)));
  return { kind: "setting", affectsCallers: false, text: `${path}: ${words.join(" → ")}` };
}

function usd(microUsd: number): string {
  return displayUsd(BigInt(microUsd));
}

/** Objects of a list by their name; entries without one are left out. */
function listed(value: JsonValue | undefined, key = "name"): Named {
  const entries = Array.isArray(value) ? value.filter(isJsonObject) : [];
  return new Map(
    entries.flatMap((entry) => {
      const name = entry[key];
      return typeof name === "string" ? [[name, entry] as const] : [];
    }),
  );
}

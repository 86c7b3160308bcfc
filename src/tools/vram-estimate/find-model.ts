import { KNOWN_MODELS, type KnownModel } from "./models.ts";

/** Words of a name that say how a model was tuned, not how it is built. */
const TUNING = new Set(["base", "chat", "hf", "instruct", "it"]);

/** Every name that a model goes by; the first model of a name keeps it. */
const BY_NAME = namesOf(KNOWN_MODELS);

/**
 * The model of that name: with or without its publisher, in upper or lower case, and tuned for conversation or not,
 * as tuning leaves the configuration as it is.
 */
export function findModel(name: string): KnownModel | undefined {
  return BY_NAME.get(name.toLowerCase()) ?? BY_NAME.get(untuned(name));
}

function namesOf(models: readonly KnownModel[]): ReadonlyMap<string, KnownModel> {
  const names = new Map<string, KnownModel>();
  const add = (name: string, model: KnownModel) => names.has(name) || names.set(name, model);
  for (const model of models) add(model.id.toLowerCase(), model);
  for (const model of models) {
    const known = untuned(model.id);
    add(known, model);
    add(known.slice(known.indexOf("/") + 1), model);
  }
  return names;
}

function untuned(name: string): string {
  const words = name.toLowerCase().split("-");
  return words.filter((word) => !TUNING.has(word)).join("-");
}

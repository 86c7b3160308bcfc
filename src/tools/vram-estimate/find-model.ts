import { KNOWN_MODELS, type KnownModel } from "./models.ts";

/** Words of a name that say how a model was tuned, not how it is built. */
const TUNING = new Set(["base", "chat", "hf", "instruct", "it"]);

/**
 * The model of that name: with or without its publisher, in upper or lower case, and tuned for conversation or not,
 * as tuning leaves the configuration as it is.
 */
export function findModel(name: string): KnownModel | undefined {
  const exact = KNOWN_MODELS.find((model) => model.id.toLowerCase() === name.toLowerCase());
  if (exact) return exact;
  const wanted = untuned(name);
  return KNOWN_MODELS.find(({ id }) => {
    const known = untuned(id);
    return known === wanted || known.slice(known.indexOf("/") + 1) === wanted;
  });
}

function untuned(name: string): string {
  const words = name.toLowerCase().split("-");
  return words.filter((word) => !TUNING.has(word)).join("-");
}

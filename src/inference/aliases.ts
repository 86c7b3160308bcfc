import type { ModelAlias } from "../domain/tools/chat.ts";
import type { InferenceSection } from "./config.ts";

/** Returns problems of the aliases. An upstream without a table may list a model that no table has. */
export function aliasProblems({ aliases, upstreams = [] }: InferenceSection): string[] {
  const tables = upstreams.map(({ models }) => models);
  const listed = new Set(tables.flatMap((models = []) => models.map(({ id }) => id)));
  const embedders = new Set(upstreams.flatMap(({ embedding_models = [] }) => embedding_models).map(idOf));
  const isComplete = tables.every((models) => models !== undefined) && upstreams.length > 0;
  const names = aliases.map(idOf);
  return aliases.flatMap(({ id, models }, index) => {
    const path = `inference.aliases[${index}]`;
    const problems: string[] = [];
    if (names.indexOf(id) < index)
      problems.push(`${path}.id: inference.aliases[${names.indexOf(id)}] has the same id; leave one out`);
    if (listed.has(id) || embedders.has(id))
      problems.push(`${path}.id: a model has the same id; choose another`);
    models.forEach((model, at) => {
      const where = `${path}.models[${at}]: ${model}`;
      if (models.indexOf(model) < at) problems.push(`${where} is named twice; leave one out`);
      else if (names.includes(model) && !listed.has(model))
        problems.push(`${where} is an alias; name models`);
      else if (embedders.has(model))
        problems.push(`${where} makes embeddings; name models that answer chats`);
      else if (isComplete && !listed.has(model))
        problems.push(`${where} is in no table of an upstream; there are ${[...listed].join(", ")}`);
    });
    return problems;
  });
}

function idOf({ id }: Pick<ModelAlias, "id">): string {
  return id;
}

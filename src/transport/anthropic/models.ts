import { ToolgateError } from "../../domain/core/errors.ts";
import { decodedId } from "../model-api/model-id.ts";

interface Listed {
  readonly id: string;
}

/** Anthropic API, "List Models". All are on the first page. */
export function modelList(models: readonly Listed[]): object {
  const [first, last] = [models[0], models.at(-1)];
  return {
    data: models.map(modelJson),
    has_more: false,
    first_id: first?.id ?? null,
    last_id: last?.id ?? null,
  };
}

/** Anthropic API, "Get a Model". @param id percent-encoded. @throws ToolgateError NOT_FOUND */
export function modelById(models: readonly Listed[], id: string): object {
  const name = decodedId(id);
  const model = models.find((one) => one.id === name);
  if (model) return modelJson(model);
  throw new ToolgateError("NOT_FOUND", "no such model; GET /anthropic/v1/models lists them");
}

function modelJson({ id }: Listed): object {
  return { type: "model", id, display_name: id, created_at: "1970-01-01T00:00:00Z" };
}

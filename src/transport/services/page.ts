import type { PageQuery } from "../../app/calls/history.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";

export const DEFAULT_LIMIT = 20;

interface ListRequest {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  /** Number of the enum value; 0 for all. */
  readonly status: number;
}

/** Returns the page query of a list. @param statuses by name. @throws ToolgateError INVALID_REQUEST */
export function pageQuery<Status extends string>(
  accountId: string,
  request: ListRequest,
  statuses: Readonly<Record<Status, number>>,
): PageQuery<Status> {
  return { accountId, ...globalPageQuery(request, statuses) };
}

/** {@link pageQuery} for a list over all accounts. */
export function globalPageQuery<Status extends string>(
  { limit, cursor, status }: ListRequest,
  statuses: Readonly<Record<Status, number>>,
): Omit<PageQuery<Status>, "accountId"> {
  return {
    limit: limit ?? DEFAULT_LIMIT,
    cursor,
    status: statusIn("status", status, statuses),
  };
}

/** @throws ToolgateError NOT_FOUND, with the same text for unknown ids and those of other accounts */
export function found<Item>(item: Item | undefined, kind: string): Item {
  if (item === undefined)
    throw new ToolgateError("NOT_FOUND", `there is no ${kind} with this id in your account`);
  return item;
}

/** Returns the name of an enum value; undefined for 0. @throws ToolgateError INVALID_REQUEST at `path` */
export function statusIn<Status extends string>(
  path: string,
  number: number,
  statuses: Readonly<Record<Status, number>>,
): Status | undefined {
  if (number === 0) return undefined;
  for (const name in statuses) if (statuses[name] === number) return name;
  throw invalidField(path, `must be one of ${Object.keys(statuses).join(", ")}`);
}

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useLocation, useSearch } from "wouter";
import { useHistoryState } from "wouter/use-browser-location";

interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | undefined;
}

export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string;
}

export interface PagedList<Item> {
  /** Newest first; undefined while the first page loads. */
  readonly rows: readonly Item[] | undefined;
  readonly error: unknown;
  /** From 1. */
  readonly page: number;
  /** Undefined if there is no such page. */
  readonly newer: (() => void) | undefined;
  readonly older: (() => void) | undefined;
  readonly busy: boolean;
  readonly retry: () => void;
}

const PAGE_SIZE = 25;

/** Poll interval of lists that change by themselves, ms. Hidden pages do not poll. */
export const POLL_MS = 15_000;

/**
 * Loads one page of a list at a time, so every page costs the same. The URL holds page and cursor;
 * without them the first page is shown, so a change of the filter starts there.
 * `key` identifies the list with its filter; the previous list stays visible while a new one loads.
 * Sends no request and returns no rows while not `enabled`. `pollMs` returns the poll interval for the rows.
 */
export function usePagedList<Item>(
  key: readonly string[],
  ask: (page: PageRequest, signal: AbortSignal) => Promise<ListPage<Item>>,
  {
    enabled = true,
    pollMs = () => false,
  }: { enabled?: boolean; pollMs?: (rows: readonly Item[]) => number | false } = {},
): PagedList<Item> {
  const { page, cursor, before, open } = usePosition();
  const { data, error, isPlaceholderData, refetch } = useQuery({
    queryKey: ["list", ...key, cursor ?? ""],
    queryFn: ({ signal }) => ask({ limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => pollMs(state.data?.items ?? []),
    enabled,
  });
  const next = enabled && !isPlaceholderData ? data?.nextCursor : undefined;
  return {
    rows: enabled ? data?.items : [],
    error,
    page,
    // A link that was opened elsewhere does not name the pages before it: Newer starts over.
    newer: cursor === undefined ? undefined : () => open(before.length + 1, before),
    older:
      next === undefined
        ? undefined
        : () => open(page + 1, [...before, ...(cursor === undefined ? [] : [cursor]), next]),
    busy: isPlaceholderData,
    retry: () => void refetch(),
  };
}

/** The current page's number and cursor from the URL, and those of the pages before it. */
function usePosition() {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const visited: unknown = useHistoryState<unknown>();
  const params = new URLSearchParams(search);
  const [page, cursor] = [Number(params.get("page")), params.get("cursor")];
  const isLater = cursor !== null && cursor !== "" && Number.isInteger(page) && page > 1;
  const position = isLater ? { page, cursor } : { page: 1, cursor: undefined };
  const before = isLater ? visitedBefore(visited, page) : [];
  const open = (next: number, cursors: readonly string[]) => {
    const at = new URLSearchParams(search);
    const last = cursors.at(-1);
    for (const [name, value] of [
      ["page", String(next)],
      ["cursor", last],
    ] as const)
      if (last === undefined || value === undefined) at.delete(name);
      else at.set(name, value);
    const text = at.toString();
    navigate(text === "" ? path : `${path}?${text}`, { state: { cursors } });
  };
  return { ...position, before, open };
}

/** The cursors of the pages 2 to `page` - 1; empty for a link that was opened elsewhere. */
function visitedBefore(state: unknown, page: number): readonly string[] {
  if (typeof state !== "object" || state === null || !("cursors" in state)) return [];
  const { cursors } = state;
  if (!Array.isArray(cursors) || cursors.length !== page - 1) return [];
  return cursors.slice(0, -1).filter((cursor) => typeof cursor === "string");
}

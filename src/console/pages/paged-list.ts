import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

/** A page of a list, as all services return it. */
interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | undefined;
}

/** Parameters of a page request. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string;
}

/** One page of a list with its navigation. */
export interface PagedList<Item> {
  /** Newest first; undefined while the first page loads. */
  readonly rows: readonly Item[] | undefined;
  readonly error: unknown;
  /** From 1. */
  readonly page: number;
  /** Undefined if there is no such page. */
  readonly newer: (() => void) | undefined;
  readonly older: (() => void) | undefined;
  /** Whether another page is loading. */
  readonly busy: boolean;
  readonly retry: () => void;
}

const PAGE_SIZE = 25;

/** The list and the cursors of the pages up to the current one. */
interface Position {
  readonly list: string;
  readonly cursors: readonly string[];
}

/**
 * Loads one page of a list at a time, so every page costs the same.
 * `key` identifies the list with its filter; the previous list stays visible while a new one loads.
 * Sends no request and returns no rows while not `enabled`.
 */
export function usePagedList<Item>(
  key: readonly string[],
  ask: (page: PageRequest, signal: AbortSignal) => Promise<ListPage<Item>>,
  enabled = true,
): PagedList<Item> {
  const list = JSON.stringify(key);
  const [place, setPlace] = useState<Position>({ list, cursors: [] });
  // A new list starts at its first page.
  if (place.list !== list) setPlace({ list, cursors: [] });
  const cursors = place.list === list ? place.cursors : [];
  const cursor = cursors.at(-1);
  const { data, error, isPlaceholderData, refetch } = useQuery({
    queryKey: ["list", ...key, cursor ?? ""],
    queryFn: ({ signal }) => ask({ limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) }, signal),
    placeholderData: keepPreviousData,
    enabled,
  });
  const next = enabled && !isPlaceholderData ? data?.nextCursor : undefined;
  return {
    rows: enabled ? data?.items : [],
    error,
    page: cursors.length + 1,
    newer: cursors.length > 0 ? () => setPlace({ list, cursors: cursors.slice(0, -1) }) : undefined,
    older: next === undefined ? undefined : () => setPlace({ list, cursors: [...cursors, next] }),
    busy: isPlaceholderData,
    retry: () => void refetch(),
  };
}

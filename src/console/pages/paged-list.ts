import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

/** A page of a list, as every service answers it. */
interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | undefined;
}

/** Which page is asked for. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string;
}

/** A page of a list, and the way to those beside it. */
export interface PagedList<Item> {
  /** What is on it, newest first; undefined while the first page is on its way. */
  readonly rows: readonly Item[] | undefined;
  readonly error: unknown;
  /** From 1. */
  readonly page: number;
  /** Turns the page; undefined where there is none. */
  readonly newer: (() => void) | undefined;
  readonly older: (() => void) | undefined;
  /** Whether another page is on its way. */
  readonly busy: boolean;
  readonly retry: () => void;
}

/** Items of a page. */
const PAGE_SIZE = 25;

/** How far back in which list: where each page but the first begins. */
interface Position {
  readonly list: string;
  readonly cursors: readonly string[];
}

/**
 * A list of which one page is in sight, so that the hundredth costs what the first does. `key` names it together with what it is narrowed to:
 * another key is another list, and the old one stays in sight until the new one is there. Nothing is asked, and nothing is in it, while it
 * is not `enabled`.
 */
export function usePagedList<Item>(
  key: readonly string[],
  ask: (page: PageRequest, signal: AbortSignal) => Promise<ListPage<Item>>,
  enabled = true,
): PagedList<Item> {
  const list = JSON.stringify(key);
  const [place, setPlace] = useState<Position>({ list, cursors: [] });
  // Another list begins at its first page, also when it was left at another one before.
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

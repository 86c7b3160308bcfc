import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback } from "react";

/** A page of a list, as every service answers it. */
interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | undefined;
}

/** Which page is asked for. */
export interface PageAsked {
  readonly limit: number;
  readonly cursor?: string;
}

/** A list as far as it was loaded. */
export interface PagedList<Item> {
  /** All that was loaded, newest first; undefined while the first page is on its way. */
  readonly rows: readonly Item[] | undefined;
  readonly error: unknown;
  readonly hasMore: boolean;
  /** Whether more is on its way. */
  readonly busy: boolean;
  readonly more: () => void;
  readonly retry: () => void;
}

/** Items of a page. */
const LIMIT = 25;

/**
 * A list that is loaded page by page. `key` names it together with what it is narrowed to: another key is another list, and the old one stays
 * in sight until the new one is there. Nothing is asked, and nothing is in it, while it is not `enabled`.
 */
export function usePagedList<Item>(
  key: readonly string[],
  ask: (page: PageAsked, signal: AbortSignal) => Promise<ListPage<Item>>,
  enabled = true,
): PagedList<Item> {
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: ["list", ...key],
    queryFn: ({ pageParam, signal }) =>
      ask({ limit: LIMIT, ...(pageParam !== undefined && { cursor: pageParam }) }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor,
    placeholderData: keepPreviousData,
    enabled,
  });
  return {
    rows: enabled ? data?.pages.flatMap(({ items }) => items) : [],
    error,
    hasMore: enabled && hasNextPage,
    busy: isFetching,
    more: useCallback(() => void fetchNextPage(), [fetchNextPage]),
    retry: useCallback(() => void refetch(), [refetch]),
  };
}

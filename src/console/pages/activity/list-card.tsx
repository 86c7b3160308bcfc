import type { ReactNode } from "react";
import { Aligned, Button, ButtonLink, Card, EmptyState, Pager, Table, type Column } from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";
import type { PagedList } from "../paged-list.ts";
import { isFiltered, clearFilter, type FilteredListProps } from "./filter.ts";

export function ListCard<Row>({
  caption,
  list,
  columns,
  rowKey,
  amounts,
  shown,
  filter,
  empty,
}: {
  caption: string;
  list: PagedList<Row>;
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  /** Returns the amounts of a row, micro-USD. */
  amounts: (row: Row) => bigint[];
  shown: (rows: number) => string;
  filter?: ReactNode;
  empty: ReactNode;
}) {
  const { rows, error, page, newer, older, busy, retry } = list;
  return (
    <Card flush>
      {filter}
      <QueryResult query={{ data: rows, error, refetch: retry }} lines={8} pad>
        {(loaded) => (
          <Aligned amounts={loaded.flatMap(amounts)}>
            <Table
              caption={caption}
              columns={columns}
              rows={loaded}
              rowKey={rowKey}
              compact
              empty={page > 1 || older ? null : empty}
            />
          </Aligned>
        )}
      </QueryResult>
      {(page > 1 || (rows?.length ?? 0) > 0 || older) && (
        <Pager
          shown={rows?.length === 0 ? emptyPageLabel(page) : rows && shown(rows.length)}
          page={page}
          newer={newer}
          older={older}
          busy={busy}
        />
      )}
    </Card>
  );
}

/** The server scans a filtered list in steps, so an empty page may have matches after it. */
function emptyPageLabel(page: number): string {
  return page === 1 ? "No matches among the newest" : "No matches on this page";
}

/** Shown for an empty list: either there is nothing yet, or the filter excludes everything. */
export function EmptyList({
  what,
  filter,
  accountId,
  onFilter,
  children,
}: {
  what: string;
  children: ReactNode;
} & FilteredListProps) {
  if (isFiltered(filter)) {
    return (
      <EmptyState
        title={`No matching ${what}`}
        action={<Button onClick={() => onFilter(clearFilter(filter))}>Show all</Button>}
      >
        Nothing matches the filter. Days are in UTC and inclusive.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title={`No ${what} yet`}
      action={
        accountId === undefined && <ButtonLink href="/playground">Try a tool in the playground</ButtonLink>
      }
    >
      {children}
    </EmptyState>
  );
}

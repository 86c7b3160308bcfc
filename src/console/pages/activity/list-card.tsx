import type { ReactNode } from "react";
import { Aligned, Card, Pager, Table, type Column } from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";
import type { PagedList } from "../paged-list.ts";

/** A list with its filter above it and the ways to its other pages below. */
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
  /** The amounts that a row shows, micro-USD. */
  amounts: (row: Row) => bigint[];
  /** How many there are, in words. */
  shown: (rows: number) => string;
  filter?: ReactNode;
  /** What stands where there is none. */
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

/** A narrowed list is looked through in steps: there may be some further back. */
function emptyPageLabel(page: number): string {
  return page === 1 ? "None among the newest" : "None here";
}

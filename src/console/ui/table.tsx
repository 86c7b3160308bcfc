import type { ReactNode } from "react";
import { classes } from "./classes.ts";
import { Skeleton } from "./empty-state.tsx";

export interface Column<Row> {
  /** Also the label of the cell in card layout; unique in a table. */
  head: string;
  cell: (row: Row) => ReactNode;
  /** Right-aligned, for numbers. */
  align?: "end";
  /** Footer cell, e.g. a total. */
  footer?: ReactNode;
  /** Visible to screen readers only. */
  hideHead?: boolean;
  /** In a compact row, shows the cell beside the first one. */
  lead?: boolean;
}

/** The last column of a table: buttons for each row. */
export function actionColumn<Row>(cell: Column<Row>["cell"]): Column<Row> {
  return { head: "Actions", hideHead: true, align: "end", cell };
}

/**
 * A table. `rows` undefined shows a skeleton, no rows show `empty`.
 * On narrow screens rows become cards, two lines each if `compact` is set, or the table scrolls if `scroll`
 * is set.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  rowKey,
  empty,
  scroll = false,
  compact = false,
  dim,
}: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string;
  empty: ReactNode;
  scroll?: boolean;
  compact?: boolean;
  /** Rows to show with less emphasis. */
  dim?: (row: Row) => boolean;
}) {
  if (!rows) {
    return (
      <div className="pad">
        <Skeleton lines={4} height={20} />
      </div>
    );
  }
  if (rows.length === 0) return empty;
  return (
    // A scrollable region must be focusable.
    <div
      className="table-box"
      tabIndex={scroll ? 0 : undefined}
      role={scroll ? "region" : undefined}
      aria-label={scroll ? caption : undefined}
    >
      {/* Explicit roles: `display: block` in card layout would remove the implicit ones. */}
      <table className={classes("table", !scroll && "table-cards", compact && "table-compact")} role="table">
        <caption className="hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ head, align, hideHead }) => (
              <th key={head} scope="col" role="columnheader" className={align === "end" ? "end" : undefined}>
                {hideHead ? <span className="hidden">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row" className={dim?.(row) ? "is-dim" : undefined}>
              {columns.map(({ head, cell, align, hideHead, lead }) => (
                <td
                  key={head}
                  role="cell"
                  className={classes(align === "end" && "end", lead && "is-lead") || undefined}
                  data-label={hideHead ? undefined : head}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        <TableFooter columns={columns} />
      </table>
    </div>
  );
}

function TableFooter<Row>({ columns }: { columns: readonly Column<Row>[] }) {
  if (columns.every(({ footer }) => footer === undefined)) return null;
  return (
    <tfoot role="rowgroup">
      <tr role="row">
        {columns.map(({ head, footer, align }) => (
          <td key={head} role="cell" className={align === "end" ? "end" : undefined} data-label={head}>
            {footer}
          </td>
        ))}
      </tr>
    </tfoot>
  );
}

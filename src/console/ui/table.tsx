import type { ReactNode } from "react";
import { classes } from "./classes.ts";
import { Skeleton } from "./skeleton.tsx";

/** A column: its heading, what it shows of a row. */
export interface Column<Row> {
  /** Also the cell's label where rows become cards. Two columns of a table never have the same. */
  head: string;
  cell: (row: Row) => ReactNode;
  /** Figures stand at the right. */
  align?: "end";
  /** Below the column, e.g. its sum; a table with a foot in any column has a last row for it. */
  footer?: ReactNode;
  /** The heading is for screen readers only, e.g. of a column of buttons. */
  hideHead?: boolean;
}

/**
 * A table. `caption` says what it lists (for screen readers). `rows` undefined: still loading. `empty` stands in its place when there are
 * none. On a narrow screen each row becomes a card with its cells below each other; `scroll`: it scrolls sideways in its box instead.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  rowKey,
  empty,
  scroll = false,
  dim,
}: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string;
  empty: ReactNode;
  scroll?: boolean;
  /** Rows that no longer matter much. */
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
    // A box that scrolls has to be reachable by keyboard.
    <div
      className="table-box"
      tabIndex={scroll ? 0 : undefined}
      role={scroll ? "region" : undefined}
      aria-label={scroll ? caption : undefined}
    >
      {/* The roles are named because a row that is shown as a card would lose its own. */}
      <table className={classes("table", !scroll && "table-cards")} role="table">
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
              {columns.map(({ head, cell, align, hideHead }) => (
                <td
                  key={head}
                  role="cell"
                  className={align === "end" ? "end" : undefined}
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

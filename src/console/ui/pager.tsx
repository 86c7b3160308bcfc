import type { MouseEvent } from "react";
import { Button } from "./button.tsx";

interface PagerProps {
  /** Row count, e.g. "12 receipts"; undefined while loading. */
  shown: string | undefined;
  /** From 1. */
  page: number;
  /** Undefined if there is no such page. */
  newer: (() => void) | undefined;
  older: (() => void) | undefined;
  busy: boolean;
}

/** Shows the number of rows and, if there is more than one page, buttons for the others. */
export function Pager({ shown, page, newer, older, busy }: PagerProps) {
  const onlyOne = page === 1 && !older && !busy;
  const last = shown === undefined || older || busy ? "" : " (last)";
  const where = `Page ${page}${last}`;
  return (
    <div className="pager">
      <span className="faint" aria-live="polite">
        {shown === undefined ? where : onlyOne ? shown : `${where}: ${shown}`}
      </span>
      {!onlyOne && (
        <span className="pager-ways">
          <Button small disabled={busy || !newer} onClick={goAndScroll(newer)}>
            Newer
          </Button>
          <Button small disabled={busy || !older} onClick={goAndScroll(older)}>
            Older
          </Button>
        </span>
      )}
    </div>
  );
}

/** Changes the page and scrolls to its top. */
function goAndScroll(turn: (() => void) | undefined) {
  return (event: MouseEvent<HTMLButtonElement>) => {
    turn?.();
    event.currentTarget.closest(".card")?.scrollIntoView({ block: "start" });
  };
}

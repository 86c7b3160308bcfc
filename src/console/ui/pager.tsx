import type { MouseEvent } from "react";
import { Button } from "./button.tsx";

/** Below a list that is told page by page: what is in sight, and, where there is more, the ways to newer and older pages. */
export function Pager({
  shown,
  page,
  newer,
  older,
  busy,
}: {
  /** How many are in sight, with what they are: "12 receipts"; undefined for a page that is not there. */
  shown: string | undefined;
  /** From 1. */
  page: number;
  /** Turns the page; undefined where there is none. */
  newer: (() => void) | undefined;
  older: (() => void) | undefined;
  busy: boolean;
}) {
  const onlyOne = page === 1 && !older && !busy;
  const last = shown === undefined || older || busy ? "" : ", the last one";
  const where = onlyOne ? "all of them" : `page ${page}${last}`;
  return (
    <div className="pager">
      <span className="faint" aria-live="polite">
        {shown === undefined ? where : `${shown}, ${where}`}
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

/** Turns the page, and shows it from its top. */
function goAndScroll(turn: (() => void) | undefined) {
  return (event: MouseEvent<HTMLButtonElement>) => {
    turn?.();
    event.currentTarget.closest(".card")?.scrollIntoView({ block: "start" });
  };
}

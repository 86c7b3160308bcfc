import { Button } from "./button.tsx";

/** Below a list: how many are shown (`shown`, with what they are: "12 receipts") and, while there are more, a button for them. */
export function Pager({
  shown,
  hasMore,
  busy,
  onMore,
}: {
  shown: string;
  hasMore: boolean;
  busy: boolean;
  onMore: () => void;
}) {
  return (
    <div className="pager">
      <span className="faint" aria-live="polite">
        {shown}
      </span>
      {hasMore && (
        <Button small busy={busy} onClick={onMore}>
          Load more
        </Button>
      )}
    </div>
  );
}

import { formatDuration } from "../../format.ts";
import { Button, Card, Status, Table, Time, type Column } from "../../ui/index.ts";
import { statusKind } from "./exchange-view.tsx";
import type { Play } from "./use-playground-call.ts";

/** The calls of this visit, newest first. */
export function Visit({ plays, onShow }: { plays: readonly Play[]; onShow: (play: Play) => void }) {
  if (plays.length === 0) return null;
  const columns: readonly Column<Play>[] = [
    {
      head: "Tool",
      cell: (play) => (
        <Button small tone="quiet" className="play-show" onClick={() => onShow(play)}>
          {play.call.tool}
        </Button>
      ),
    },
    { head: "When", cell: ({ startedAt }) => <Time at={startedAt} relative /> },
    { head: "Answer", cell: ({ last }) => <Answered play={last?.answer.status} /> },
    {
      head: "Took",
      align: "end",
      cell: ({ last }) => (last ? formatDuration(last.answer.durationMs) : <span className="faint">—</span>),
    },
  ];
  return (
    <Card title="This visit" note="Not kept when the page is closed" flush>
      <Table
        caption="Calls of this visit"
        columns={columns}
        rows={plays}
        rowKey={({ startedAt }) => startedAt.toISOString()}
        empty={null}
      />
    </Card>
  );
}

function Answered({ play }: { play: number | undefined }) {
  return play === undefined ? (
    <Status kind="bad">none</Status>
  ) : (
    <Status kind={statusKind(play)}>{play}</Status>
  );
}

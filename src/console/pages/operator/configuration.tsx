import { Code, ConnectError } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import { Button, Card, EmptyState, ErrorNote, Skeleton, Time } from "../../ui/index.ts";
import { DraftCard } from "./configuration/draft-card.tsx";
import { discardDraft, formatDocument, readDraft, writeDraft, type Draft } from "./configuration/draft.ts";
import { VersionList } from "./configuration/version-list.tsx";
import { OperatorPage } from "./operator-page.tsx";
import "./operator.css";

/** Tools, prices and models: drafts are compared, tested and published to all instances. */
export function ConfigurationPage() {
  return (
    <OperatorPage
      title="Configuration"
      lead="Tools, prices, models and tiers. A draft stays in this browser until it is published."
    >
      <Configuration />
    </OperatorPage>
  );
}

function Configuration() {
  const [draft, setDraft] = useState<Draft | undefined>(readDraft);
  const change = (next: Draft | undefined) => {
    if (next) writeDraft(next);
    else discardDraft();
    setDraft(next);
  };
  const start = (document: string) => change({ text: formatDocument(document) });
  return (
    <>
      {draft ? (
        <DraftCard draft={draft} onChange={change} onDone={() => change(undefined)} />
      ) : (
        <InForce onStart={start} />
      )}
      <VersionList onDraft={start} hasDraft={draft !== undefined} />
    </>
  );
}

function InForce({ onStart }: { onStart: (document: string) => void }) {
  const { data, error, refetch } = useQuery(OperationsService.method.getConfigVersion, {}, { retry: false });
  const none = error !== null && ConnectError.from(error).code === Code.NotFound;
  if (none)
    return (
      <Card>
        <EmptyState
          title="No version is stored"
          action={<Button onClick={() => onStart("{}")}>Start with an empty document</Button>}
        >
          Instances use their own file, TOOLGATE_CONFIG. The first published version replaces it on all of
          them.
        </EmptyState>
      </Card>
    );
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton lines={3} />;
  const { version, document } = data;
  return (
    <Card
      title={`Version ${version?.version ?? 0} is in force`}
      note={<Time at={version?.appliedAt} relative />}
      actions={
        <Button tone="primary" onClick={() => onStart(document)}>
          Edit as draft
        </Button>
      }
    >
      <p className="soft">{version?.note === "" ? "Without a note." : version?.note}</p>
    </Card>
  );
}

import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { OperationsService, type GetConfigVersionResponse } from "#gen/toolgate/v1/operations_service_pb.ts";
import { Button, Card, EmptyState, Skeleton, Time } from "../../ui/index.ts";
import { QueryResult, useLoaded } from "../query-result.tsx";
import { DraftCard } from "./configuration/draft-card.tsx";
import { formatDocument, readDraft, storeDraft, type Draft } from "./configuration/draft.ts";
import { useVersions, VersionList } from "./configuration/version-list.tsx";
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
  const list = useVersions();
  const isNone = list.page === 1 && list.rows?.length === 0;
  // Also while a draft is shown: the version that it becomes appears in its place.
  const inForce = useQuery(
    OperationsService.method.getConfigVersion,
    {},
    { enabled: !isNone && (list.rows !== undefined || list.error !== null) },
  );
  const loaded = useLoaded({ isPending: !isNone && inForce.isPending });
  const [draft, setDraft] = useState<Draft | undefined>(readDraft);
  const change = (next: Draft | undefined) => {
    storeDraft(next);
    setDraft(next);
  };
  const start = (document: string) => change({ text: formatDocument(document) });
  if (!loaded)
    return (
      <Card>
        <Skeleton lines={10} height={24} />
      </Card>
    );
  return (
    <>
      {draft && <DraftCard draft={draft} onChange={change} onDone={() => change(undefined)} />}
      {!draft && isNone && (
        <Card>
          <EmptyState
            title="No version is stored"
            action={<Button onClick={() => start("{}")}>Start with an empty document</Button>}
          >
            Instances use their own file, TOOLGATE_CONFIG. The first published version replaces it on all of
            them.
          </EmptyState>
        </Card>
      )}
      {!draft && !isNone && (
        <QueryResult query={inForce} box>
          {(answer) => <InForce answer={answer} onStart={start} />}
        </QueryResult>
      )}
      {!isNone && <VersionList list={list} onDraft={start} hasDraft={draft !== undefined} />}
    </>
  );
}

function InForce({
  answer: { version, document },
  onStart,
}: {
  answer: GetConfigVersionResponse;
  onStart: (document: string) => void;
}) {
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

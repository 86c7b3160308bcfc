import { useQuery } from "@connectrpc/connect-query";
import { Link, useLocation, useParams, useSearchParams } from "wouter";
import {
  RequestLogService,
  type GetRequestResponse,
  type LoggedRequest,
} from "#gen/toolgate/console/v1/request_log_service_pb.ts";
import { formatCount, formatDuration } from "../format.ts";
import { reload } from "../reload.ts";
import {
  Button,
  ButtonLink,
  Card,
  Columns,
  Copyable,
  Facts,
  Money,
  Note,
  Page,
  Status,
  Time,
  Code,
} from "../ui/index.ts";
import { listHref, recordHref, KeyName } from "./activity/call.tsx";
import { MutationDialog } from "./mutation-dialog.tsx";
import { QueryResult } from "./query-result.tsx";
import { errorMeaning, statusLabel } from "./status-labels.ts";
import type { JsonObject } from "@bufbuild/protobuf";
import { useState, type ReactNode } from "react";
import { useSignedIn } from "../session.tsx";
import { PlaygroundLink, SnippetCard } from "./tools/snippet-card.tsx";
import { formatValue, type ParamTexts } from "./playground/schema.ts";

export function RequestPage() {
  const { id } = useParams<{ id: string }>();
  const accountId = useSearchParams()[0].get("account") ?? undefined;
  const query = useQuery(RequestLogService.method.getRequest, { id, accountId: accountId ?? "" });
  return (
    <Page
      title="Request"
      lead={<Copyable text={query.data?.request?.requestId ?? id} label="request id" />}
      actions={
        <>
          {accountId === undefined && query.data?.request && <DeleteButton id={query.data.request.id} />}
          <ButtonLink href={listHref("requests", accountId)}>All requests</ButtonLink>
        </>
      }
    >
      <QueryResult query={query} lines={8} height={24} box>
        {(data) =>
          data.request && <RequestDetails answer={data} request={data.request} accountId={accountId} />
        }
      </QueryResult>
    </Page>
  );
}

interface DetailsProps {
  answer: GetRequestResponse;
  request: LoggedRequest;
  /** Account of the request; the reader's own if undefined. */
  accountId: string | undefined;
}

function RequestDetails({ answer, request, accountId }: DetailsProps) {
  const { code } = request;
  return (
    <>
      {code !== "" && (
        <Note tone="bad" title={<code>{code}</code>}>
          {answer.message !== "" && <p>{answer.message}</p>}
          <p>{errorMeaning(code)}</p>
        </Note>
      )}
      <Columns>
        <CallCard request={request} accountId={accountId} />
        <TimeCard request={request} />
      </Columns>
      {accountId === undefined && <BodyCards answer={answer} request={request} />}
    </>
  );
}

function CallCard({ request, accountId }: Omit<DetailsProps, "answer">) {
  const { tool, method, transport, status, keyId, keyName, runId, receiptId, repeats, traceId } = request;
  const label = statusLabel(status);
  return (
    <Card title="Call">
      <Facts
        facts={[
          ["Tool", tool === "" ? undefined : tool],
          ["Method", <code key="method">{method}</code>],
          ["Transport", transport],
          [
            "Status",
            <Status key="status" kind={label.kind}>
              {label.text}
            </Status>,
          ],
          ["Like it", repeats > 0 ? `${formatCount(repeats)} more requests at that time` : undefined],
          ["Charged", <Money key="charged" microUsd={request.chargedUsdcMicrousd} />],
          ["Key", <KeyName key="key" keyId={keyId} name={keyName} own={accountId === undefined} />],
          [
            "Run",
            runId === "" ? undefined : (
              <Link key="run" href={recordHref("runs", runId, accountId)}>
                Run
              </Link>
            ),
          ],
          [
            "Receipt",
            receiptId === "" ? undefined : (
              <Link key="receipt" href={recordHref("receipts", receiptId, accountId)}>
                Receipt
              </Link>
            ),
          ],
          [
            "Trace",
            traceId === "" ? undefined : <Copyable key="trace" text={traceId} label="trace id" short />,
          ],
        ]}
      />
    </Card>
  );
}

/** Tool and payment are measured; the rest is the gateway's. */
function TimeCard({ request }: Pick<DetailsProps, "request">) {
  const { totalUs, toolUs, paymentUs, receivedAt, expiresAt } = request;
  const rest = totalUs - toolUs - paymentUs;
  return (
    <Card title="Time">
      <Facts
        facts={[
          ["Received", <Time key="received" at={receivedAt} />],
          ["Total", duration(totalUs)],
          ["In the tool", duration(toolUs)],
          ["For the payment", paymentUs > 0n ? duration(paymentUs) : undefined],
          ["In the gateway", duration(rest > 0n ? rest : 0n)],
          ["Deleted", <Time key="deleted" at={expiresAt} relative />],
        ]}
      />
    </Card>
  );
}

function duration(us: bigint): string {
  return formatDuration(Number(us) / 1000);
}

function DeleteButton({ id }: { id: string }) {
  const [, navigate] = useLocation();
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button tone="quiet" onClick={() => setOpen(true)}>
        Delete
      </Button>
      <MutationDialog
        open={open}
        title="Delete this request?"
        onClose={() => setOpen(false)}
        action="Delete request"
        tone="danger"
        method={RequestLogService.method.deleteRequests}
        input={() => ({ id })}
        onSuccess={async () => {
          await reload("requests");
          navigate(listHref("requests", undefined));
        }}
        toast="Request deleted"
      >
        <p>Its params and result are deleted too. Receipt and run stay. This cannot be undone.</p>
      </MutationDialog>
    </>
  );
}

function BodyCards({ answer, request }: { answer: GetRequestResponse; request: LoggedRequest }) {
  const { params, result, stored, omitted } = answer;
  const { baseUrl } = useSignedIn().installation;
  if (!stored) {
    return (
      <Card title="Params and result">
        <p className="soft">
          Not stored. <Link href="/settings">Settings</Link> decides of which requests they are stored.
        </p>
      </Card>
    );
  }
  const { tool } = request;
  return (
    <>
      <JsonCard title="Params" value={params} tooLarge={omitted.includes("params")}>
        {tool !== "" && params && <PlaygroundLink tool={tool} texts={textsOf(params)} />}
      </JsonCard>
      {request.code === "" && (
        <JsonCard title="Result" value={result} tooLarge={omitted.includes("result")} />
      )}
      {tool !== "" && params && <SnippetCard baseUrl={baseUrl} call={{ tool, params }} />}
    </>
  );
}

interface JsonCardProps {
  title: string;
  value: JsonObject | undefined;
  tooLarge: boolean;
  children?: ReactNode;
}

function JsonCard({ title, value, tooLarge, children }: JsonCardProps) {
  return (
    <Card title={title} actions={children}>
      {value ? (
        <Code text={JSON.stringify(value, undefined, 2)} label={`${title.toLowerCase()} as JSON`} bounded />
      ) : (
        <p className="soft">{tooLarge ? "Too large to be stored." : "None, or no longer readable."}</p>
      )}
    </Card>
  );
}

function textsOf(params: JsonObject): ParamTexts {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, formatValue(value)]));
}

import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "wouter";
import { HistoryService, type GetReceiptResponse } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { ReceiptStatus, type Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { formatUsd } from "../format.ts";
import { ButtonLink, Card, Columns, Copyable, Facts, Money, Note, Page, Status, Time } from "../ui/index.ts";
import { KeyName } from "./key-name.tsx";
import { QueryResult } from "./query-result.tsx";
import { PaymentCard } from "./receipt/payment-card.tsx";
import { durationLabel } from "./run/duration.ts";
import { paymentMethodLabel, receiptStatusLabel, runStatusLabel } from "./status-labels.ts";

/** A charged call with its run, key and payment. */
export function ReceiptPage() {
  const { id } = useParams<{ id: string }>();
  const query = useQuery(HistoryService.method.getReceipt, { receiptId: id });
  return (
    <Page
      title="Receipt"
      lead={<Copyable text={id} label="receipt id" />}
      actions={<ButtonLink href="/activity">All receipts</ButtonLink>}
    >
      <QueryResult query={query} lines={8} height={24} box>
        {(data) => data.receipt && <ReceiptDetails answer={data} receipt={data.receipt} />}
      </QueryResult>
    </Page>
  );
}

function ReceiptDetails({ answer, receipt }: { answer: GetReceiptResponse; receipt: Receipt }) {
  return (
    <>
      <ReceiptNote receipt={receipt} />
      <Columns>
        <ChargeCard receipt={receipt} />
        <CallCard receipt={receipt} run={answer.run} keyId={answer.keyId} keyName={answer.keyName} />
      </Columns>
      <PaymentCard receipt={receipt} payment={answer.payment} />
    </>
  );
}

/** A reversed or refunded charge is announced first. */
function ReceiptNote({ receipt }: { receipt: Receipt }) {
  if (receipt.status === ReceiptStatus.REVERSED) {
    return (
      <Note tone="bad" title="Reversed: the network dropped the payment for this call">
        The payment was confirmed when the call ran but did not become final. Its credit of{" "}
        {formatUsd(receipt.debitedUsdcMicrousd)} was removed from your balance. While the balance is negative,
        paid calls are rejected. If the payment reappears, it is credited again.
      </Note>
    );
  }
  if (receipt.refundedUsdcMicrousd > 0n) {
    return (
      <Note tone="info" title={`${formatUsd(receipt.refundedUsdcMicrousd)} refunded`}>
        The operator credited it to your balance.
      </Note>
    );
  }
  return null;
}

function ChargeCard({ receipt }: { receipt: Receipt }) {
  const { text, kind } = receiptStatusLabel(receipt.status);
  return (
    <Card title="Charge">
      <Facts
        facts={[
          ["Charged", <Money key="charged" microUsd={receipt.debitedUsdcMicrousd} strong />],
          ["Quoted", <Money key="quoted" microUsd={receipt.quotedUsdcMicrousd} />],
          [
            "Refunded",
            receipt.refundedUsdcMicrousd > 0n ? (
              <Money key="back" microUsd={receipt.refundedUsdcMicrousd} />
            ) : undefined,
          ],
          [
            "Status",
            <Status key="status" kind={kind}>
              {text}
            </Status>,
          ],
          ["Payment method", paymentMethodLabel(receipt.paidBy)],
          ["Charged at", <Time key="time" at={receipt.createdAt} />],
          [
            "Quote",
            receipt.quoteId === undefined ? undefined : (
              <Copyable key="quote" text={receipt.quoteId} label="quote id" short />
            ),
          ],
        ]}
      />
    </Card>
  );
}

function CallCard({
  receipt,
  run,
  keyId,
  keyName,
}: {
  receipt: Receipt;
  run: Run | undefined;
  keyId: string;
  keyName: string;
}) {
  const outcome = run && runStatusLabel(run.status);
  return (
    <Card title="Call">
      <Facts
        facts={[
          ["Tool", receipt.tool],
          [
            "Run",
            <Link key="run" href={`/runs/${receipt.runId}`}>
              <code>{receipt.runId}</code>
            </Link>,
          ],
          [
            "Outcome",
            outcome && (
              <Status key="status" kind={outcome.kind}>
                {outcome.text}
              </Status>
            ),
          ],
          ["Duration", run && durationLabel(run)],
          ["Key", <KeyName key="key" keyId={keyId} name={keyName} />],
        ]}
      />
    </Card>
  );
}

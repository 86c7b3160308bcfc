import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "wouter";
import { HistoryService, type GetReceiptResponse } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { ReceiptStatus, type Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { formatUsd } from "../format.ts";
import { ButtonLink, Card, Columns, Copyable, Facts, Money, Note, Page, Status, Time } from "../ui/index.ts";
import { Loaded } from "./query-result.tsx";
import { PaymentCard } from "./receipt/payment-card.tsx";
import { durationWord } from "./run/duration.ts";
import { paidByWord, receiptWord, runWord } from "./status-labels.ts";

/** A charged call with all that it rests on: the run, the key, the payment on the chain. */
export function ReceiptPage() {
  const { id } = useParams<{ id: string }>();
  const asked = useQuery(HistoryService.method.getReceipt, { receiptId: id });
  return (
    <Page
      title="Receipt"
      lead={<Copyable text={id} label="receipt id" />}
      actions={<ButtonLink href="/activity">All receipts</ButtonLink>}
    >
      <Loaded asked={asked} lines={8} height={24} box>
        {(data) => data.receipt && <Shown answer={data} receipt={data.receipt} />}
      </Loaded>
    </Page>
  );
}

function Shown({ answer, receipt }: { answer: GetReceiptResponse; receipt: Receipt }) {
  return (
    <>
      <Trouble receipt={receipt} />
      <Columns>
        <Charge receipt={receipt} />
        <Call receipt={receipt} run={answer.run} keyId={answer.keyId} keyName={answer.keyName} />
      </Columns>
      <PaymentCard receipt={receipt} payment={answer.payment} />
    </>
  );
}

/** A charge that no longer stands is told before anything else. */
function Trouble({ receipt }: { receipt: Receipt }) {
  if (receipt.status === ReceiptStatus.REVERSED) {
    return (
      <Note tone="bad" title="Reversed: the payment of this call has vanished from the chain">
        It was there when the call ran. The chain has dropped it since, so its credit of{" "}
        {formatUsd(receipt.debitedUsdcMicrousd)} was taken back from the balance. While the balance is below
        zero, no paid call runs. If the payment comes back, it is credited again.
      </Note>
    );
  }
  if (receipt.refundedUsdcMicrousd > 0n) {
    return (
      <Note tone="info" title={`${formatUsd(receipt.refundedUsdcMicrousd)} was given back`}>
        The operator has put it on your balance.
      </Note>
    );
  }
  return null;
}

function Charge({ receipt }: { receipt: Receipt }) {
  const { word, kind } = receiptWord(receipt.status);
  return (
    <Card title="Charge">
      <Facts
        facts={[
          ["Charged", <Money key="charged" microUsd={receipt.debitedUsdcMicrousd} strong />],
          ["Quoted", <Money key="quoted" microUsd={receipt.quotedUsdcMicrousd} />],
          [
            "Given back",
            receipt.refundedUsdcMicrousd > 0n ? (
              <Money key="back" microUsd={receipt.refundedUsdcMicrousd} />
            ) : undefined,
          ],
          [
            "Status",
            <Status key="status" kind={kind}>
              {word}
            </Status>,
          ],
          ["Paid by", paidByWord(receipt.paidBy)],
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

function Call({
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
  const word = run && runWord(run.status);
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
            word && (
              <Status key="status" kind={word.kind}>
                {word.word}
              </Status>
            ),
          ],
          ["Took", run && durationWord(run)],
          ["Key", keyId === "" ? "not recorded" : <KeyName key="key" keyId={keyId} name={keyName} />],
        ]}
      />
    </Card>
  );
}

function KeyName({ keyId, name }: { keyId: string; name: string }) {
  return (
    <span className="row">
      {name !== "" && <Link href="/keys">{name}</Link>}
      <Copyable text={keyId} label="key id" short />
    </span>
  );
}

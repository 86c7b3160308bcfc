import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link, useParams, useSearchParams } from "wouter";
import {
  HistoryService,
  type GetReceiptResponse,
  type ChainPayment,
} from "#gen/toolgate/console/v1/history_service_pb.ts";
import { ReceiptStatus, type Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import { formatUsd, formatCount } from "../format.ts";
import { useSignedIn } from "../session.tsx";
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
} from "../ui/index.ts";
import { KeyName, listHref, Outcome, recordHref } from "./activity/call.tsx";
import { RefundDialog } from "./refund-dialog.tsx";
import { QueryResult } from "./query-result.tsx";
import { durationLabel, paymentMethodLabel, receiptStatusLabel } from "./status-labels.ts";
import { Address, Transaction } from "./on-chain.tsx";

export function ReceiptPage() {
  const { id } = useParams<{ id: string }>();
  const accountId = useSearchParams()[0].get("account") ?? undefined;
  const { session } = useSignedIn();
  const [refunding, setRefunding] = useState(false);
  const query = useQuery(HistoryService.method.getReceipt, { receiptId: id, accountId: accountId ?? "" });
  const receipt = query.data?.receipt;
  return (
    <Page
      title="Receipt"
      lead={<Copyable text={id} label="receipt id" />}
      actions={
        <>
          {session.operator && receipt?.status === ReceiptStatus.FINAL && (
            <Button onClick={() => setRefunding(true)}>Refund</Button>
          )}
          <ButtonLink href={listHref("receipts", accountId)}>All receipts</ButtonLink>
        </>
      }
    >
      <QueryResult query={query} lines={8} height={24} box>
        {(data) =>
          data.receipt && <ReceiptDetails answer={data} receipt={data.receipt} accountId={accountId} />
        }
      </QueryResult>
      {refunding && receipt && <RefundDialog receipt={receipt} onClose={() => setRefunding(false)} />}
    </Page>
  );
}

interface ReceiptDetailsProps {
  answer: GetReceiptResponse;
  receipt: Receipt;
  /** Account of the receipt; the reader's own if undefined. */
  accountId: string | undefined;
}

function ReceiptDetails({ answer, receipt, accountId }: ReceiptDetailsProps) {
  return (
    <>
      <ReceiptNote receipt={receipt} credited={answer.payment?.amountUsdcMicrousd} />
      <Columns>
        <ChargeCard receipt={receipt} />
        <CallCard answer={answer} receipt={receipt} accountId={accountId} />
      </Columns>
      <PaymentCard receipt={receipt} payment={answer.payment} />
    </>
  );
}

/** A reversed or refunded charge is announced first. */
function ReceiptNote({ receipt, credited }: { receipt: Receipt; credited: bigint | undefined }) {
  if (receipt.status === ReceiptStatus.REVERSED) {
    return (
      <Note tone="bad" title="Reversed: the network dropped the payment for this call">
        The payment was confirmed when the call ran but did not become final. Its credit of{" "}
        {formatUsd(credited ?? receipt.quotedUsdcMicrousd)} was removed from your balance. While the balance
        is negative, paid calls are rejected. If the payment reappears, it is credited again.
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

function CallCard({ answer, receipt, accountId }: ReceiptDetailsProps) {
  const { run, keyId, keyName } = answer;
  return (
    <Card title="Call">
      <Facts
        facts={[
          ["Tool", receipt.tool],
          [
            "Run",
            <Link key="run" href={recordHref("runs", receipt.runId, accountId)}>
              <code>{receipt.runId}</code>
            </Link>,
          ],
          ["Outcome", <Outcome key="outcome" call={answer} />],
          ["Duration", run && durationLabel(run)],
          ["Key", <KeyName key="key" keyId={keyId} name={keyName} own={accountId === undefined} />],
        ]}
      />
    </Card>
  );
}

/** The on-chain payment of a call, if it was not paid from the balance. */
function PaymentCard({ receipt, payment }: { receipt: Receipt; payment: ChainPayment | undefined }) {
  if (payment === undefined) {
    return (
      <Card title="Payment">
        <p className="soft">Paid from balance, without an on-chain transaction.</p>
      </Card>
    );
  }
  const surplus = payment.amountUsdcMicrousd - receipt.debitedUsdcMicrousd;
  return (
    <Card title="On-chain payment">
      <Facts
        facts={[
          ["Finality", <Finality key="finality" payment={payment} />],
          ["Transaction", <Transaction key="transaction" signature={payment.txSignature} />],
          ["Received", <Money key="amount" microUsd={payment.amountUsdcMicrousd} />],
          [
            "Surplus",
            surplus > 0n && !payment.reversed ? `${formatUsd(surplus)} credited to your balance` : undefined,
          ],
          [
            "Payer",
            payment.payer === undefined ? (
              "unknown"
            ) : (
              <Address key="payer" address={payment.payer} label="payer" />
            ),
          ],
          ["Slot", formatCount(payment.slot).replaceAll(",", " ")],
          ["Block time", <Time key="time" at={payment.blockTime} none="unknown" />],
        ]}
      />
    </Card>
  );
}

function Finality({ payment: { reversed, finalized } }: { payment: ChainPayment }) {
  if (reversed) return <Status kind="bad">Reversed, credit removed</Status>;
  if (finalized) return <Status kind="ok">Finalized</Status>;
  return <Status kind="wait">Confirmed, not final yet</Status>;
}

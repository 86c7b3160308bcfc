import { useParams } from "wouter";
import { Page } from "../ui/index.ts";
import { DepositList } from "./deposit/deposit-list.tsx";
import { NewDeposit } from "./deposit/new-deposit.tsx";
import { DepositDetails } from "./deposit/deposit-details.tsx";
import "./deposit/deposit.css";

/** Creates a deposit, or shows the one in the URL, so that a reload finds it again. */
export function DepositPage() {
  const { id } = useParams<{ id?: string }>();
  return (
    // A new key moves the focus to the heading after the form is submitted.
    <Page
      key={id ?? "new"}
      title="Deposit"
      lead="USDC on Solana. Credited when final, usually within 30 seconds."
    >
      {id === undefined ? (
        <>
          <NewDeposit />
          <DepositList current={id} />
        </>
      ) : (
        <DepositDetails id={id}>
          <DepositList current={id} />
        </DepositDetails>
      )}
    </Page>
  );
}

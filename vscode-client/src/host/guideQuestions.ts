/** The questions of a guide in the editor: one quick pick after the other, with a way back. */
import * as vscode from "vscode";
import type { WizardParams, WizardQuestion } from "../shared/protocol";
import type { Server } from "./client";

interface ChoiceItem extends vscode.QuickPickItem {
  value: string;
}

/** All answers; undefined when the user gives up. Throws an error for the user where there is nothing to analyse. */
export async function askGuideQuestions(
  server: Server,
  analysis: WizardParams["analysis"],
): Promise<WizardParams | undefined> {
  const answers: string[] = [];
  for (;;) {
    const { title, question, message } = await server.ask("clew/wizard", { analysis, answers });
    if (message) {
      if (answers.length === 0) throw new Error(message);
      void vscode.window.showInformationMessage(`clew: ${message}`);
      answers.pop(); // another one may lead somewhere
      continue;
    }
    if (!question) return { analysis, answers };
    const answer = await pick(title, question, answers.length);
    if (answer === undefined) return undefined;
    if (answer === BACK) answers.pop();
    else answers.push(answer.value);
  }
}

const BACK = Symbol("back");

function pick(title: string, question: WizardQuestion, asked: number): Promise<ChoiceItem | typeof BACK | undefined> {
  return new Promise((resolve) => {
    const list = vscode.window.createQuickPick<ChoiceItem>();
    list.title = title;
    list.step = asked + 1;
    const more = question.hiddenChoices > 0 ? ` (${question.hiddenChoices} less likely choices not shown)` : "";
    list.placeholder = question.text + more;
    list.items = question.choices.map((choice) => ({
      value: choice.value,
      label: choice.title,
      detail: choice.detail,
    }));
    list.matchOnDetail = true;
    list.ignoreFocusOut = true;
    if (asked > 0) list.buttons = [vscode.QuickInputButtons.Back];
    list.onDidTriggerButton(() => {
      resolve(BACK);
      list.dispose();
    });
    list.onDidAccept(() => {
      resolve(list.selectedItems[0]);
      list.dispose();
    });
    list.onDidHide(() => {
      resolve(undefined);
      list.dispose();
    });
    list.show();
  });
}

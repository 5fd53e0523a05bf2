// The course's tree and rules in the words of scorm-again.

import type { Activity, Condition, Objective, RollupRule, Rule, Sequencing } from "./launch";

/** What scorm-again takes as `sequencing`. */
export interface Settings {
  activityTree: Record<string, unknown>;
  eventListeners: object;
  autoRollupOnCMIChange: boolean;
}

/** The settings of a course. */
export function settings(tree: Activity, eventListeners: object): Settings {
  return { activityTree: activity(tree), eventListeners, autoRollupOnCMIChange: false };
}

function activity(one: Activity): Record<string, unknown> {
  const rules = one.sequencing ?? {};
  const objectives = (rules.objectives ?? []).map(objective);
  return defined({
    id: one.id,
    title: one.title,
    isVisible: one.visible ?? true,
    children: (one.children ?? []).map(activity),
    attemptLimit: rules.limits?.attemptLimit,
    primaryObjective: objectives.find((found) => found["isPrimary"] === true),
    objectives: objectives.filter((found) => found["isPrimary"] !== true),
    sequencingControls: controls(rules),
    deliveryControls: rules.delivery,
    sequencingRules: defined({
      preConditionRules: rules.rules?.pre?.map(rule),
      exitConditionRules: rules.rules?.exit?.map(rule),
      postConditionRules: rules.rules?.post?.map(rule),
    }),
    rollupRules: { rules: (rules.rollup?.rules ?? []).map(rollupRule) },
    rollupConsiderations: rules.rollupConsiderations,
    completionThreshold: one.completionThreshold,
    hideLmsUi: one.hideUI,
    sharedDataMaps: maps(one),
  });
}

/** The shared data that an activity may read and write. */
export function maps(one: Activity): { targetID: string; readSharedData: boolean; writeSharedData: boolean }[] {
  return (one.dataMaps ?? []).map(({ target, read, write }) => ({
    targetID: target,
    readSharedData: read ?? true,
    writeSharedData: write ?? true,
  }));
}

function controls(rules: Sequencing): Record<string, unknown> {
  const { randomization, rollup, delivery } = rules;
  return defined({
    ...rules.controlMode,
    ...rules.constrained,
    ...delivery,
    rollupObjectiveSatisfied: rollup?.objectiveSatisfied,
    rollupProgressCompletion: rollup?.progressCompletion,
    objectiveMeasureWeight: rollup?.objectiveMeasureWeight,
    selectionTiming: randomization?.selectionTiming,
    selectCount: randomization?.selectCount,
    randomizationTiming: randomization?.randomizationTiming,
    randomizeChildren: randomization?.reorderChildren,
    reorderChildren: randomization?.reorderChildren,
  });
}

function rule({ action, conditions, conditionCombination }: Rule): Record<string, unknown> {
  return {
    action,
    conditionCombination: conditionCombination ?? "all",
    conditions: (conditions ?? []).map(condition),
  };
}

function condition(one: Condition): Record<string, unknown> {
  return defined({
    condition: one.condition,
    operator: one.operator === "not" ? "not" : undefined,
    referencedObjective: one.referencedObjective,
    parameters: one.measureThreshold === undefined ? undefined : { threshold: one.measureThreshold },
  });
}

function rollupRule(one: RollupRule): Record<string, unknown> {
  return defined({
    action: one.action,
    conditionCombination: one.conditionCombination ?? "any",
    consideration: one.childActivitySet ?? "all",
    minimumCount: one.minimumCount,
    minimumPercent: one.minimumPercent === undefined ? undefined : one.minimumPercent * 100,
    conditions: (one.conditions ?? []).map(({ condition: name, operator }) => ({
      condition: name === "activityProgressKnown" ? "progressKnown" : name,
      operator: operator ?? "noOp",
    })),
  });
}

function objective(one: Objective): Record<string, unknown> {
  return defined({
    objectiveID: one.id ?? "",
    isPrimary: one.primary === true,
    satisfiedByMeasure: one.satisfiedByMeasure,
    minNormalizedMeasure: one.minNormalizedMeasure,
    mapInfo: one.maps?.map(({ target, ...flags }) => ({ targetObjectiveID: target, ...flags })),
  });
}

/** The members that have a value. */
function defined(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

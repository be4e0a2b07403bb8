// The parts of Observable Plot that the console draws with; the others are left out of the built files.
export {
  barX,
  barY,
  bin,
  binX,
  binY,
  cell,
  dot,
  frame,
  geo,
  group,
  lineY,
  plot,
  rect,
  rectY,
  ruleX,
  ruleY,
} from '@observablehq/plot'

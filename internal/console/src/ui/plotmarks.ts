// The parts of Observable Plot that the console draws with; the others are left out of the built files.
export { barX, barY, cell, dot, frame, geo, lineY, plot, rect, rectY, ruleX, ruleY } from '@observablehq/plot'

export default () => <h1>functions</h1>
